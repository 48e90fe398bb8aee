"""One worker's life: import, set up, be measured, tear down.

The same in a thread, a process or a sub-interpreter: orders come and reports go over the line.
"""

import contextlib
import os
import socket
import traceback
from typing import Any

from workers.cell import Cell
from workers.host.channel import Channel, Message
from workers.host.open_files import raise_limit
from workers.loops.registry import import_loop, loop_version
from workers.loops.runners import Runtime, runtime_of
from workers.readback.gil import GilWatch
from workers.readback.process import Readback
from workers.worker.finite import measure_work, measure_work_alone
from workers.worker.handle import Worker
from workers.worker.meter import Meter
from workers.worker.registry import load_workload
from workers.worker.windowed import measure_window
from workers.worker.workload import Workload, build, reason_against

GRACE_S = 5.0  # for operations in flight to end once told to stop; for a teardown; for a loop


class RefusedError(ValueError):
    """The workload cannot run under the cell's model on the cell's loop."""


def load(cell: Cell) -> Workload:
    """Import everything that the cell's workload and loop need; return the workload.

    Raises:
        RefusedError: the workload does not run under that model on that loop.
        Exception: whatever those imports raise.
    """
    raise_limit()  # of open files: the plan counts on it
    import_loop(cell.loop)
    runtime_of(cell.loop)  # imports what runs the life on it
    workload = build(load_workload(cell.workload), cell.parameters)
    reason = reason_against(workload, cell.model, cell.loop)
    if reason is not None:
        raise RefusedError(reason)
    workload.load()
    return workload


def work(descriptor: int) -> None:
    """Live a worker's life, told what to do over the line behind `descriptor`."""
    channel = Channel(socket.socket(fileno=descriptor))
    session = None
    try:
        assignment = channel.receive()
        session = Session(channel, Cell(**assignment["cell"]), assignment["index"])
        channel.send({"is": "closed", "report": session.live()})
    except BaseException as error:
        phase, index = (session.phase, session.index) if session else ("start", None)
        with contextlib.suppress(ConnectionError):  # unless the host itself is gone
            channel.send({"is": "failed", "failure": failure_of(error, phase, index)})
    finally:
        channel.close()


def failure_of(error: BaseException, phase: str, worker: int | None) -> dict[str, Any]:
    """Tell what failed, for the record; `worker` is None where it was the host.

    Of a group, which task groups and nurseries raise, it is the first error that is named.
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
    """Holds what a worker needs from its first import to its report."""

    workload: Workload  # these three once it is imported
    worker: Worker
    meter: Meter

    def __init__(self, channel: Channel, cell: Cell, index: int) -> None:
        self.phase = "import"
        self.index = index
        self.channel = channel
        self.cell = cell
        self._readback: Readback | None = None
        if cell.model != "threads":  # threads share the host's interpreter, which reads itself back
            watch = GilWatch()
            watch.install()
            self._readback = Readback(watch)

    def live(self) -> Message:
        """Run from import to the closed loop; return what is known of the worker only then.

        All else has been reported before: whatever hangs while closing takes no figure with it.
        """
        cell = self.cell
        if cell.pinning is not None:
            os.sched_setaffinity(0, cell.pinning[self.index])  # 0: this thread, and no other
        self.workload = load(cell)
        if cell.in_flight is not None and self.workload.in_flight is not None:
            setattr(self.workload, self.workload.in_flight, cell.share(self.index))
        if self._readback:
            self._readback.imported(collect=cell.gc, switches=cell.switches)
        self.channel.send({"is": "imported", "finite": self.workload.finite})
        self.channel.receive()
        self.worker = Worker(self.index, cell.workers, cell.services, cell.loop)
        self.meter = Meter(self.worker, self._readback)
        if self.workload.makes_loops:
            pending = self._without_a_loop()
        else:
            runtime = runtime_of(cell.loop)
            pending = runtime.run(lambda: self._on_a_loop(runtime))
        return {"pending_tasks": pending, **self._errors()}

    async def _on_a_loop(self, runtime: Runtime) -> int:
        """Do all that belongs on the loop; return how many tasks are left running."""
        workload, worker = self.workload, self.worker
        runtime.hear_errors(worker.fail)  # an error of this worker, not a line in a log
        try:
            self.phase = "setup"
            await workload.setup(worker)
            if workload.finite:
                told = await measure_work(self, runtime)
            else:
                told = await measure_window(self, runtime, GRACE_S)
            worker.stop()
            self._report(told, _loop_in_use(runtime))
        except BaseException as error:
            worker.stop()
            try:
                await runtime.within(GRACE_S, workload.teardown(worker))
            except Exception as another:
                error.add_note(f"and then, in teardown: {type(another).__name__}: {another}")
            raise
        self.phase = "teardown"
        await runtime.within(GRACE_S, workload.teardown(worker))
        return runtime.pending()

    def _without_a_loop(self) -> int:
        """Measure a workload that makes loops itself; it leaves no task that we could see."""
        self.phase = "setup"
        told = measure_work_alone(self)
        runtime = runtime_of(self.cell.loop)

        async def look() -> Message:
            return _loop_in_use(runtime)

        self._report(told, runtime.run(look))
        return 0

    def _report(self, told: Message, loop: Message) -> None:
        cell, worker = self.cell, self.worker
        report = {
            "index": self.index,
            "in_flight": None if worker.serves else cell.share(self.index),
            "serves": worker.serves,
            "cpus": None if cell.pinning is None else sorted(os.sched_getaffinity(0)),
            "loop_version": loop_version(cell.loop),
            "facts": self.workload.facts(),
            "ticks": self.meter.columns,
            "figures": worker.finite_figures(),
            "latency": worker.latencies(),
            "process": self._read_back(debug=loop["debug"]),
            **self._errors(),
            **loop,
            **told,
        }
        self.channel.send({"is": "report", "report": report})

    def _errors(self) -> Message:
        return {"errors": self.worker.errors, "error_samples": self.worker.error_samples}

    def _read_back(self, *, debug: bool) -> dict[str, Any] | None:
        if self._readback is None:
            return None
        return self._readback.result(debug=debug, whole_process=self.cell.model == "processes")


def _loop_in_use(runtime: Runtime) -> Message:
    return {"loop_class": runtime.loop_class(), "debug": runtime.debug()}
