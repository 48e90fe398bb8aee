"""One worker's life on its own loop: set up, warm up, take ticks, stop, tear down.

The same in a thread, a process or a sub-interpreter: orders come and reports go over the line.
"""

import asyncio
import contextlib
import os
import socket
import time
import traceback
from collections.abc import Awaitable, Coroutine
from typing import Any

from workers.cell import Cell
from workers.gil import GilWatch
from workers.line import Line, Message
from workers.loops import load_loop, loop_version
from workers.naming import load_workload
from workers.readback import Readback
from workers.window import Ticks, take_ticks
from workers.worker import Worker
from workers.workload import Workload, build

GRACE_S = 5.0  # for operations in flight to end once told to stop; for a teardown; for a loop


class RefusedError(ValueError):
    """The workload cannot run under the cell's model on the cell's loop."""


def load(cell: Cell) -> Workload:
    """Import everything that the cell's workload and loop need; return the workload.

    Raises:
        RefusedError: the workload does not run under that model on that loop.
        Exception: whatever those imports raise.
    """
    load_loop(cell.loop)
    workload = build(load_workload(cell.workload), cell.parameters)
    reason = workload.refuses(cell.model, cell.loop)
    if reason is not None:
        raise RefusedError(reason)
    workload.load()
    return workload


def work(descriptor: int) -> None:
    """Live a worker's life, told what to do over the line behind `descriptor`."""
    line = Line(socket.socket(fileno=descriptor))
    life = None
    try:
        assignment = line.receive()
        life = Life(line, Cell(**assignment["cell"]), assignment["index"])
        line.send({"is": "closed", "report": life.live()})
    except BaseException as error:
        phase, index = (life.phase, life.index) if life else ("start", None)
        with contextlib.suppress(ConnectionError):  # unless the host itself is gone
            line.send({"is": "failed", "failure": failure_of(error, phase, index)})
    finally:
        line.close()


def failure_of(error: BaseException, phase: str, worker: int | None) -> dict[str, Any]:
    """Tell what failed, for the record; `worker` is None where it was the host."""
    return {
        "phase": phase,
        "worker": worker,
        "error": f"{type(error).__name__}: {error}",
        "traceback": "".join(traceback.format_exception(error)),
    }


class Life:
    """Holds what a worker needs from its first import to its report."""

    def __init__(self, line: Line, cell: Cell, index: int) -> None:
        self.phase = "import"
        self.index = index
        self._line = line
        self._cell = cell
        self._ticks = Ticks()
        self._readback: Readback | None = None
        if cell.model != "threads":  # threads share the host's interpreter, which reads itself back
            watch = GilWatch()
            watch.install()
            self._readback = Readback(watch)

    def live(self) -> dict[str, Any]:
        """Run from import to the closed loop; return what is known of the worker only then.

        All else has been reported before: whatever hangs while closing takes no figure with it.
        """
        cell = self._cell
        if cell.pinning is not None:
            os.sched_setaffinity(0, cell.pinning[self.index])  # 0: this thread, and no other
        workload = load(cell)
        if cell.in_flight is not None and workload.in_flight is not None:
            setattr(workload, workload.in_flight, cell.share(self.index))
        if self._readback:
            self._readback.imported(collect=cell.gc)
        self._line.send({"is": "imported"})
        self._line.receive()
        worker = Worker(self.index, cell.workers, cell.services)
        with asyncio.Runner(loop_factory=load_loop(cell.loop)) as runner:
            pending = runner.run(self._live(workload, worker))
        return {
            "pending_tasks": pending,
            "errors": worker.errors,
            "error_samples": worker.error_samples,
        }

    def _report(self, workload: Workload, worker: Worker) -> dict[str, Any]:
        cell, loop = self._cell, asyncio.get_running_loop()
        return {
            "index": self.index,
            "in_flight": cell.share(self.index),
            "cpus": None if cell.pinning is None else sorted(os.sched_getaffinity(0)),
            "loop_class": f"{type(loop).__module__}.{type(loop).__qualname__}",
            "loop_version": loop_version(cell.loop),
            "facts": workload.facts(),
            "ticks": self._ticks.columns,
            "errors": worker.errors,
            "error_samples": worker.error_samples,
            "process": self._read_back(debug=loop.get_debug()),
            "debug": loop.get_debug(),
        }

    def _read_back(self, *, debug: bool) -> dict[str, Any] | None:
        if self._readback is None:
            return None
        return self._readback.result(debug=debug, whole_process=self._cell.model == "processes")

    async def _live(self, workload: Workload, worker: Worker) -> int:
        """Do all that belongs on the loop; return how many tasks are left running."""
        loop = asyncio.get_running_loop()
        # A callback that raises is an error of this worker, not a line in a log.
        loop.set_exception_handler(lambda _, context: worker.fail(_told(context)))
        busy_from_ns = busy_until_ns = 0
        traffic: asyncio.Task[None] | None = None
        try:
            self.phase = "setup"
            await workload.setup(worker)
            busy_from_ns = time.monotonic_ns()
            traffic = asyncio.create_task(workload.run(worker))
            self.phase = "warm-up"
            await _beside(traffic, asyncio.sleep(self._cell.warmup_s))
            order = await self._ask({"is": "ready"}, traffic)
            if order["do"] == "measure":
                self.phase = "window"
                await _beside(traffic, self._window(order["instants_ns"], worker))
                await self._ask({"is": "measured"}, traffic)
            busy_until_ns = time.monotonic_ns()
            self.phase = "stop"
            worker.stop()
            await _end(traffic)
        except BaseException as error:
            worker.stop()
            if traffic is not None and not traffic.done():
                traffic.cancel()
                await asyncio.wait({traffic}, timeout=GRACE_S)
            try:
                await _within_grace(workload.teardown(worker))
            except Exception as another:
                error.add_note(f"and then, in teardown: {type(another).__name__}: {another}")
            raise
        busy = {"busy_from_ns": busy_from_ns, "busy_until_ns": busy_until_ns}
        self._line.send({"is": "report", "report": self._report(workload, worker) | busy})
        self.phase = "teardown"
        await _within_grace(workload.teardown(worker))
        return len(asyncio.all_tasks() - {asyncio.current_task()})

    async def _ask(self, message: Message, traffic: asyncio.Task[None]) -> Message:
        self._line.send(message)
        return await _beside(traffic, self._line.receive_on_loop())

    async def _window(self, instants_ns: list[int], worker: Worker) -> None:
        opens_ns, closes_ns = instants_ns[0], instants_ns[-1]

        def tick(instant_ns: int) -> None:
            if self._readback and instant_ns == opens_ns:
                self._readback.opened()
            self._ticks.take(instant_ns, worker)
            if self._readback and instant_ns == closes_ns:
                self._readback.closed()

        await take_ticks(instants_ns, tick)


async def _beside[T](traffic: asyncio.Task[None], awaited: Awaitable[T]) -> T:
    """Wait for something while the traffic runs; traffic that ends meanwhile is a failure."""
    waiting = asyncio.ensure_future(awaited)
    await asyncio.wait({traffic, waiting}, return_when=asyncio.FIRST_COMPLETED)
    if waiting.done():
        return waiting.result()
    waiting.cancel()
    await asyncio.wait({waiting})
    traffic.result()  # raises what ended it
    raise RuntimeError("the traffic ended before it was told to stop")


async def _end(traffic: asyncio.Task[None]) -> None:
    """Let traffic that was told to stop finish its operations, then cancel what goes on."""
    await asyncio.wait({traffic}, timeout=GRACE_S)
    if not traffic.done():
        traffic.cancel()
        await asyncio.wait({traffic}, timeout=GRACE_S)
    if traffic.done() and not traffic.cancelled():
        traffic.result()


async def _within_grace(closing: Coroutine[Any, Any, None]) -> None:
    """Wait for what closes things, but not for ever: what hangs is left pending."""
    task = asyncio.create_task(closing)
    await asyncio.wait({task}, timeout=GRACE_S)
    if task.done():
        task.result()


def _told(context: dict[str, Any]) -> str:
    error = context.get("exception")
    return f"{context['message']}: {error!r}" if error else str(context["message"])
