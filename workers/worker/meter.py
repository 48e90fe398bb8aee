"""The meter: takes a worker's ticks, and reads its interpreter back at the first and the last."""

import time

from workers.readback.process import Readback
from workers.worker.handle import Worker
from workers.worker.thread_use import ThreadUse, gained, thread_use

try:
    from resource import RUSAGE_THREAD, getrusage

    def minor_faults() -> int | None:
        """Minor page faults of this thread so far; they show what state malloc is in."""
        return getrusage(RUSAGE_THREAD).ru_minflt
except ImportError:  # not Linux: the figure stays blank

    def minor_faults() -> int | None:
        """Return None: this system does not count them per thread."""
        return None


class Ticks:
    """A worker's ticks, one list per column; counters are cumulative since the worker started."""

    def __init__(self) -> None:
        self.columns: dict[str, list[int | None]] = {
            "instant_ns": [],
            "time_ns": [],
            "operations": [],
            "errors": [],
            "bytes": [],
            "cpu_ns": [],
            "minor_faults": [],
        }

    def take(self, instant_ns: int | None, worker: Worker) -> int:
        """Read the clock, the counters, and the CPU time of the calling thread.

        `instant_ns` is when this tick was due (None: now). Returns the time read, monotonic ns.
        """
        time_ns = time.monotonic_ns()
        reading = (
            time_ns if instant_ns is None else instant_ns,
            time_ns,
            worker.operations,
            worker.errors,
            worker.bytes,
            time.thread_time_ns(),
            minor_faults(),
        )
        for column, value in zip(self.columns.values(), reading, strict=True):
            column.append(value)
        return time_ns


class Meter:
    """Measures one worker. `readback` is None where the host reads back for all (threads)."""

    def __init__(self, worker: Worker, readback: Readback | None) -> None:
        self._worker = worker
        self._readback = readback
        self._ticks = Ticks()
        self._opened: ThreadUse = {}
        self.use: ThreadUse | None = None  # of the window, once it is closed

    @property
    def columns(self) -> dict[str, list[int | None]]:
        """All ticks so far, one list per column."""
        return self._ticks.columns

    def open(self, instant_ns: int) -> int:
        """Take the first tick; return when it was taken, monotonic ns."""
        if self._readback:
            self._readback.opened()
        self._opened = thread_use()
        return self.tick(instant_ns)

    def tick(self, instant_ns: int | None) -> int:
        """Take a tick due at `instant_ns` (None: now); return when it was taken."""
        return self._ticks.take(instant_ns, self._worker)

    def close(self, instant_ns: int | None) -> int:
        """Take the last tick; return when it was taken."""
        taken_ns = self.tick(instant_ns)
        self.use = gained(self._opened, thread_use())
        if self._readback:
            self._readback.closed()
        return taken_ns
