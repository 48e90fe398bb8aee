"""One worker's session: import, set up, be measured, tear down.

It is the same in a thread, a process or a sub-interpreter: orders and reports go through a channel.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
import traceback
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from workers.cell import SHARING, Cell
from workers.channel import Channel, ChannelClosedError, Message
from workers.loops import import_loop, loop_version, runner_for
from workers.loops.libraries import Runner
from workers.readback.gil import GilWatch, gil_enabled
from workers.readback.process import Readback
from workers.system import raise_limit, socket_of
from workers.worker.finite import measure_finite, measure_without_loop, parts_of
from workers.worker.handle import Worker
from workers.worker.meter import Meter
from workers.worker.workload import (
    Workload,
    build,
    imported_anew,
    is_own,
    load_workload,
    package_of,
    reason_against,
)

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
    reason = reason_against(workload, cell.kind, cell.loop)
    if reason is not None:
        raise RefusedError(reason)
    workload.placed(cell, index)
    workload.load()
    return workload


def run_workers(descriptors: Sequence[int], inherited: Readback | None = None) -> None:
    """Run the sessions of some workers, each with orders from the channel behind its descriptor.

    One runs in this thread, several in a thread each. `inherited` is a forked process's copy of
    what the host noted of itself up to the fork.
    """
    channels = [Channel(socket.socket(fileno=each)) for each in descriptors]
    try:
        orders = [each.receive() for each in channels]
        sessions = [
            Session(channel, Cell(**order["cell"]), order["index"])
            for channel, order in zip(channels, orders, strict=True)
        ]
        first, *others = sessions
        first.reads_back(inherited)
        if not others:
            first.serve()
        elif first.prepared(others):
            _in_threads(sessions)
    except ChannelClosedError:
        pass  # the host is gone
    except BaseException as error:
        failure = failure_of(error, "start", None)
        for each in channels:
            with contextlib.suppress(ConnectionError):
                each.send({"is": "failed", "failure": failure})
    finally:
        for each in channels:
            each.close()


def _in_threads(sessions: Sequence[Session]) -> None:
    """Run each session in a thread, as the host does with workers that are threads of its own."""
    threads = [
        threading.Thread(target=each.serve, name=f"worker-{each.index}", daemon=True)
        for each in sessions
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


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
    """The session of one worker, from its first import to its report."""

    workload: Workload  # set, like the next two, once the workload is imported
    worker: Worker
    meter: Meter

    def __init__(self, channel: Channel, cell: Cell, index: int) -> None:
        self.phase = "import"
        self.index = index
        self.channel = channel
        self.cell = cell
        self._readback: Readback | None = None

    def reads_back(self, inherited: Readback | None) -> None:
        """Make this worker read back its process, for all workers in it.

        Threads of the host share its interpreter, which reads itself back.
        """
        self._readback = inherited
        if inherited is None and self.cell.model != "threads":
            watch = GilWatch()
            watch.install()
            self._readback = Readback(watch)

    def prepared(self, others: Sequence[Session]) -> bool:
        """Import once, before the threads of this process would do it together; False if it fails.

        A failure is that of the first worker; the `others` report it, too, so that the host does
        not take them for crashed.
        """
        try:
            load(self.cell)
            self._imported()
        except BaseException as error:
            for each in (self, *others):
                each.fail(error, self.index)
            return False
        return True

    def serve(self) -> None:
        """Run, and report how it ended."""
        try:
            self.channel.send({"is": "closed", "report": self.run()})
        except BaseException as error:
            self.fail(error, self.index)
        finally:
            self.channel.close()

    def fail(self, error: BaseException, index: int) -> None:
        """Report the failure of worker `index`, unless the host itself is gone."""
        with contextlib.suppress(ConnectionError):
            self.channel.send({"is": "failed", "failure": failure_of(error, self.phase, index)})

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
        self._imported()
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

    def _imported(self) -> None:
        cell = self.cell
        if self._readback:
            self._readback.imported(
                collect=cell.gc, switches=cell.switches, threshold=cell.gc_threshold
            )

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
        if not (cell.own_code and cell.kind in SHARING):
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
                times = await measure_window(self, runner)
            worker.stop()
            self._report(times, runner.in_use())
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
        self._report(times, runner.run(lambda: _loop_in_use(runner)))
        return 0

    def _report(self, times: Message, loop: Message) -> None:
        cell, worker, name = self.cell, self.worker, self.workload.in_flight
        whole = cell.model != "interpreters"
        in_flight = None if worker.serves or name is None else getattr(self.workload, name)
        report = {
            "index": self.index,
            "in_flight": in_flight,
            "serves": worker.serves,
            "cpus": None if cell.pinning is None else sorted(os.sched_getaffinity(0)),
            "loop_version": loop_version(cell.loop),
            "own_code": self.cell.kind not in SHARING or is_own(type(self.workload)),
            "facts": self.workload.facts(),
            "ticks": self.meter.columns,
            "use": self.meter.use,
            "figures": worker.finite_figures(),
            "latency": worker.latencies(),
            "process": self._readback
            and self._readback.result(debug=loop["debug"], whole_process=whole),
            **self._errors(),
            **loop,
            **times,
        }
        if cell.alternating:
            report["slices"] = self.meter.slices
        self.channel.send({"is": "report", "report": report})

    @property
    def ready(self) -> Message:
        """The message that it can be measured, and by which thread: the driver samples that.

        `parts` are those that finite work can be divided into.
        """
        thread = [os.getpid(), threading.get_native_id()]
        return {"is": "ready", "thread": thread, "parts": parts_of(self.workload)}

    @cached_property
    def shares_gil(self) -> bool:
        """True if the worker takes slices under a GIL that other workers share, or the host.

        A loop that polls releases the GIL and takes it again before a waiting thread wakes up. That
        thread may wait for half a second, longer than a slice. So workers block between slices: the
        host can end the turn, and all workers begin the next slice together. Servers are not
        stopped between slices, so they do not block.
        """
        takes_slices = self.cell.alternating and not self.workload.served
        return takes_slices and self.cell.kind in SHARING and gil_enabled()

    def _errors(self) -> Message:
        return {"errors": self.worker.errors, "error_samples": self.worker.error_samples}


def _kind_of(workload: Workload) -> Message:
    """The facts of a workload that the host needs."""
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


async def _loop_in_use(runner: Runner) -> Message:
    return runner.in_use()


async def measure_window(session: Session, runner: Runner) -> Message:
    """Run traffic from the end of setup until the host says stop; return when it was busy.

    Operations in flight at the stop have `GRACE_S` to end.

    Raises:
        RuntimeError: the traffic ended before the stop.
        Exception: whatever the traffic raised.
    """
    busy_from_ns = time.monotonic_ns()
    runner.start(session.workload.run(session.worker))
    try:
        session.phase = "warm-up"
        if not session.workload.served:  # the load generator warms that up, before the window
            await runner.beside(runner.sleep(session.cell.warmup_s))
        order = await _ask(session, runner, session.ready)
        while order["do"] == "measure":  # the window, or one slice of it after the other
            session.phase = "window"
            _rest_until(order["begins_ns"])
            late = await runner.beside(_ticks(runner, order["instants_ns"], session))
            order = await _ask(session, runner, {"is": "measured", **late})
        busy_until_ns = time.monotonic_ns()
        session.phase = "stop"
        session.worker.stop()
        await runner.end_traffic(GRACE_S)
    except BaseException:
        session.worker.stop()
        await runner.cancel_traffic(GRACE_S)
        raise
    return {"busy_from_ns": busy_from_ns, "busy_until_ns": busy_until_ns}


async def _ask(session: Session, runner: Runner, message: Message) -> Message:
    session.channel.send(message)
    if session.shares_gil:
        return session.channel.receive()  # blocks the loop
    return await runner.beside(runner.receive(session.channel))


def _rest_until(begins_ns: int) -> None:
    """Block the loop until all workers begin a slice; return at once if that has passed.

    `begins_ns` is monotonic; it is 0 where they need not begin together.
    """
    if (wait_s := (begins_ns - time.monotonic_ns()) / 1e9) > 0:
        time.sleep(wait_s)


async def _ticks(runner: Runner, instants_ns: list[int], session: Session) -> dict[str, int]:
    """Take a tick at each instant; return how late the first and the last one were, ns."""
    meter = session.meter
    in_common = session.shares_gil and session.cell.loops_each > 1
    opens_ns, closes_ns = instants_ns[0], instants_ns[-1]
    late = {"opened_late_ns": 0, "late_ns": 0}

    def tick(instant_ns: int) -> None:
        if instant_ns == opens_ns:
            late["opened_late_ns"] = meter.open(instant_ns, in_common=in_common) - instant_ns
        elif instant_ns == closes_ns:
            late["late_ns"] = meter.close(instant_ns) - instant_ns
        else:
            meter.tick(instant_ns)

    await runner.take_ticks(instants_ns, tick)
    return late
