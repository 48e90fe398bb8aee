"""One worker's session: import, set up, be measured, tear down.

It is the same in a thread, a process or a sub-interpreter: orders and reports go through a channel.
"""

import contextlib
import os
import socket
import threading
import traceback
from typing import Any

from workers.cell import Cell
from workers.host.channel import Channel, Message
from workers.host.inbound import socket_of
from workers.host.open_files import raise_limit
from workers.loops.registry import import_loop, loop_version
from workers.loops.runners import Runner, runner_for
from workers.readback.gil import GilWatch
from workers.readback.process import Readback
from workers.worker.finite import measure_finite, measure_without_loop
from workers.worker.handle import Worker
from workers.worker.meter import Meter
from workers.worker.own_code import imported_anew, is_own, package_of
from workers.worker.registry import load_workload
from workers.worker.windowed import measure_window
from workers.worker.workload import Workload, build, reason_against

OWN_IMPORTS = ("processes", "interpreters")  # models whose workers import for themselves
GRACE_S = 5.0  # limit for operations in flight after the stop, for a teardown, and for a loop


class RefusedError(ValueError):
    """The workload cannot run under the cell's model on the cell's loop."""


def load(cell: Cell, index: int | None = None) -> Workload:
    """Import everything that the cell's workload and loop need; return the workload.

    `index` is that of the worker for which it is done; None: of all that share this process's
    imports.

    Raises:
        RefusedError: the workload does not run under that model on that loop.
        Exception: whatever those imports raise.
    """
    raise_limit()  # on open files: the plan relies on it
    import_loop(cell.loop)
    runner_for(cell.loop)  # imports the module that runs a session on it
    workload = build(load_workload(cell.workload), cell.parameters)
    reason = reason_against(workload, cell.model, cell.loop)
    if reason is not None:
        raise RefusedError(reason)
    workload.placed(cell.model, cell.workers, index)
    workload.load()
    return workload


def run_worker(descriptor: int, inherited: Readback | None = None) -> None:
    """Run a worker's session, with orders from the channel behind `descriptor`.

    `inherited` is a forked worker's copy of what the host noted of itself up to the fork.
    """
    channel = Channel(socket.socket(fileno=descriptor))
    session = None
    try:
        assignment = channel.receive()
        cell = Cell(**assignment["cell"])
        session = Session(channel, cell, assignment["index"], inherited)
        channel.send({"is": "closed", "report": session.run()})
    except BaseException as error:
        phase, index = (session.phase, session.index) if session else ("start", None)
        with contextlib.suppress(ConnectionError):  # unless the host itself is gone
            channel.send({"is": "failed", "failure": failure_of(error, phase, index)})
    finally:
        channel.close()


def failure_of(error: BaseException, phase: str, worker: int | None) -> dict[str, Any]:
    """Describe a failure for the record; `worker` is None if the host failed.

    Of an exception group, which task groups and nurseries raise, the first error is named.
    """
    first = error
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    return {
        "phase": phase,
        "worker": worker,
        "error": f"{type(first).__name__}: {first}",
        "traceback": "".join(traceback.format_exception(error)),
    }


class Session:
    """What a worker holds from its first import to its report."""

    workload: Workload  # set, like the next two, once the workload is imported
    worker: Worker
    meter: Meter

    def __init__(
        self, channel: Channel, cell: Cell, index: int, inherited: Readback | None
    ) -> None:
        self.phase = "import"
        self.index = index
        self.channel = channel
        self.cell = cell
        self._readback = inherited
        # Threads share the host's interpreter, which reads itself back.
        if inherited is None and cell.model != "threads":
            watch = GilWatch()
            watch.install()
            self._readback = Readback(watch)

    def run(self) -> Message:
        """Run from import to the closed loop; return what is known of the worker only then.

        The report has been sent before, so a worker that hangs while closing loses no figure.
        """
        cell = self.cell
        if cell.pinning is not None:
            os.sched_setaffinity(0, cell.pinning[self.index])  # 0: this thread, and no other
        self.workload = self._load()
        if cell.in_flight is not None and self.workload.in_flight is not None:
            setattr(self.workload, self.workload.in_flight, cell.share(self.index))
        if self._readback:
            self._readback.imported(
                collect=cell.gc, switches=cell.switches, threshold=cell.gc_threshold
            )
        self.channel.send({"is": "imported", **_kind_of(self.workload)})
        self.worker = Worker(self.index, cell.workers, cell.services, cell.loop)
        self.worker.inbound = self._begin()
        self.meter = Meter(self.worker, self._readback)
        if self.workload.makes_loops:
            pending = self._without_loop()
        else:
            runner = runner_for(cell.loop)
            pending = runner.run(lambda: self._on_loop(runner))
        return {"pending_tasks": pending, **self._errors()}

    def _begin(self) -> tuple[str, socket.socket] | None:
        """Wait for the order to set up; with it a served workload gets its policy and socket."""
        if not self.workload.served:
            self.channel.receive()
            return None
        begin, (descriptor,) = self.channel.receive_with_files()
        return begin["policy"], socket_of(descriptor)

    def _load(self) -> Workload:
        """Import what the worker needs: anew, if it is to have code of its own."""
        cell = self.cell
        if not (cell.own_code and cell.model == "threads"):
            return load(cell, self.index if cell.model in OWN_IMPORTS else None)
        application = cell.parameters.get("application", "")
        with imported_anew(*map(package_of, filter(None, (cell.workload, application)))):
            return load(cell)

    async def _on_loop(self, runner: Runner) -> int:
        """Do everything that happens on the loop; return the number of tasks left running."""
        workload, worker = self.workload, self.worker
        if self.cell.eager_tasks:
            runner.start_eagerly()
        runner.on_error(worker.fail)  # count it as this worker's error, not as a line in a log
        try:
            self.phase = "setup"
            await workload.setup(worker)
            if workload.finite:
                times = await measure_finite(self, runner)
            else:
                times = await measure_window(self, runner, GRACE_S)
            worker.stop()
            self._report(times, _loop_in_use(runner))
        except BaseException as error:
            worker.stop()
            try:
                await runner.within(GRACE_S, workload.teardown(worker))
            except Exception as another:
                error.add_note(f"teardown failed, too: {type(another).__name__}: {another}")
            raise
        self.phase = "teardown"
        await runner.within(GRACE_S, workload.teardown(worker))
        return runner.pending()

    def _without_loop(self) -> int:
        """Measure a workload that makes its own loops; it leaves no task that we could count."""
        self.phase = "setup"
        times = measure_without_loop(self)
        runner = runner_for(self.cell.loop)

        async def look() -> Message:
            return _loop_in_use(runner)

        self._report(times, runner.run(look))
        return 0

    def _report(self, times: Message, loop: Message) -> None:
        cell, worker = self.cell, self.worker
        report = {
            "index": self.index,
            "in_flight": None if worker.serves else self._in_flight(),
            "serves": worker.serves,
            "cpus": None if cell.pinning is None else sorted(os.sched_getaffinity(0)),
            "loop_version": loop_version(cell.loop),
            "own_code": self.cell.model != "threads" or is_own(type(self.workload)),
            "facts": self.workload.facts(),
            "ticks": self.meter.columns,
            "use": self.meter.use,
            "figures": worker.finite_figures(),
            "latency": worker.latencies(),
            "process": self._read_back(debug=loop["debug"]),
            **self._errors(),
            **loop,
            **times,
        }
        if cell.alternating:
            report["slices"] = self.meter.slices
        self.channel.send({"is": "report", "report": report})

    @property
    def ready(self) -> Message:
        """The message that it can be measured, and by which thread: the driver samples that."""
        return {"is": "ready", "thread": [os.getpid(), threading.get_native_id()]}

    def _in_flight(self) -> int | None:
        """How much work the workload really has in flight; None where it has no such parameter."""
        name = self.workload.in_flight
        return None if name is None else getattr(self.workload, name)

    def _errors(self) -> Message:
        return {"errors": self.worker.errors, "error_samples": self.worker.error_samples}

    def _read_back(self, *, debug: bool) -> dict[str, Any] | None:
        if self._readback is None:
            return None
        return self._readback.result(
            debug=debug,
            whole_process=self.cell.model != "interpreters",
            spans=self.workload.served,
        )


def _kind_of(workload: Workload) -> Message:
    """What the host has to know of a workload."""
    served = {
        "policy": getattr(workload, "accept", "port"),
        "scheme": workload.client_scheme(),
        "requests": workload.client_requests(),
    }
    return {
        "finite": workload.finite,
        "served": served if workload.served else None,
        "settle_s": workload.settle_s,
    }


def _loop_in_use(runner: Runner) -> Message:
    return {
        "loop_class": runner.loop_class(),
        "debug": runner.debug(),
        "eager_tasks": runner.is_eager(),
    }
