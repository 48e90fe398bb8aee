"""The meter: takes a worker's ticks, and reads its interpreter back at the first and the last.

A window may be taken in slices, with time between them that does not count. Ticks are cumulative
over the slices in every column, the clock included, as if one slice followed the other at once: the
tick that closes a slice also opens the next one. The true instants are kept beside them. So it is
with the rounds of finite work.
"""

import os
import time
from collections.abc import Sequence

from workers.readback.process import Readback, collector_ns
from workers.worker.handle import Worker

# --------------------------------------------------------------------------------------- thread use
# Counters of a loop's thread that its CPU time alone does not show.
#
# Read at both ends of the window, or of each of its slices. All readings are the kernel's counters
# of this thread, and reading them takes some microseconds.

SCHEDSTAT = "/proc/thread-self/schedstat"  # ns on CPU, ns in the run queue, times it was run
LONGEST_BYTES = 128

try:
    from resource import RUSAGE_THREAD, getrusage

    def _user_and_system_ns() -> tuple[int | None, int | None]:
        usage = getrusage(RUSAGE_THREAD)
        return round(usage.ru_utime * 1e9), round(usage.ru_stime * 1e9)

    def minor_faults() -> int | None:
        """Minor page faults of this thread so far; they show what state malloc is in."""
        return getrusage(RUSAGE_THREAD).ru_minflt
except ImportError:  # not Linux: the figures stay blank

    def _user_and_system_ns() -> tuple[int | None, int | None]:
        return None, None

    def minor_faults() -> int | None:
        """Return None: this system does not count them per thread."""
        return None


type ThreadUse = dict[str, int | None]


def thread_use() -> ThreadUse:
    """Read the counters of the calling thread, ns; None where the system has none.

    `process_cpu_ns` is the CPU time of all threads of the process.
    """
    user_ns, system_ns = _user_and_system_ns()
    return {
        "user_ns": user_ns,
        "system_ns": system_ns,
        "run_queue_ns": _run_queue_ns(),
        "collector_ns": collector_ns(),
        "process_cpu_ns": time.process_time_ns(),
    }


def gained(before: ThreadUse, after: ThreadUse) -> ThreadUse:
    """The increase of each counter between two readings."""
    pairs = zip(before.items(), after.values(), strict=True)
    return {
        name: None if then is None or now is None else now - then for (name, then), now in pairs
    }


def added(so_far: ThreadUse | None, more: ThreadUse) -> ThreadUse:
    """The sum of the increases in two stretches of time; None: there was none before."""
    if so_far is None:
        return more
    pairs = zip(so_far.items(), more.values(), strict=True)
    return {name: None if one is None or two is None else one + two for (name, one), two in pairs}


def _run_queue_ns() -> int | None:
    try:
        file = os.open(SCHEDSTAT, os.O_RDONLY)
        try:
            on_cpu, run_queue, *_ = map(int, os.read(file, LONGEST_BYTES).split())
        finally:
            os.close(file)
    except (OSError, ValueError):
        return None
    return run_queue if on_cpu else None  # a kernel that does not count has zeros


# -------------------------------------------------------------------------------------------- meter

# The lateness that a timer may have: some loops count in ms. A later one probably had to wait for
# the GIL.
MOST_LATE_NS = 1_000_000


def _counted_from(instant_ns: int, now_ns: int, *, in_common: bool) -> int:
    """The start of counted time (ns): now, or the instant of a slice `in_common` that is late."""
    return instant_ns if in_common and now_ns - instant_ns > MOST_LATE_NS else now_ns


class Joined:
    """Readings of counters and clocks, one list per column, without what lies between slices."""

    def __init__(self, *names: str) -> None:
        self.columns: dict[str, list[int | None]] = {name: [] for name in names}
        self._left_out = [0] * len(names)

    def add(self, reading: Sequence[int | None]) -> None:
        """Add a reading: a value for each column, None where it is not known."""
        for column, value, gap in zip(self.columns.values(), reading, self._left_out, strict=True):
            column.append(value - gap if gap and value is not None else value)

    def leave_out(self, reading: Sequence[int | None]) -> None:
        """Go on from this reading as if it were the last one."""
        for place, (column, value) in enumerate(zip(self.columns.values(), reading, strict=True)):
            last = column[-1]
            self._left_out[place] = 0 if value is None or last is None else value - last


class Meter:
    """Measures one worker. `readback` is None where the host reads back for all (threads).

    Counters in its ticks are cumulative since the worker started, without what was left out between
    slices.
    """

    def __init__(self, worker: Worker, readback: Readback | None) -> None:
        self._worker = worker
        self._readback = readback
        self._ticks = Joined(
            "instant_ns", "time_ns", "operations", "errors", "bytes", "cpu_ns", "minor_faults"
        )
        self._opened: ThreadUse = {}
        self.use: ThreadUse | None = None  # of the window, or of the slices closed so far
        self.slices: dict[str, list[int]] = {"opened_ns": [], "closed_ns": []}  # true instants

    @property
    def columns(self) -> dict[str, list[int | None]]:
        """All ticks so far, one list per column."""
        return self._ticks.columns

    def open(self, instant_ns: int, *, from_instant: bool = False, in_common: bool = False) -> int:
        """Open the window, with the first tick, or its next slice; return when, monotonic ns.

        `from_instant`: what is measured counts from its instant on, however late it is opened. So
        does a slice that all workers have `in_common`, for a worker that is later than
        `MOST_LATE_NS`; what it did between the instant and its tick is lost.
        """
        if self._readback:
            self._readback.opened()
        self._opened = thread_use()
        if self.slices["opened_ns"]:
            opened_ns = self._go_on(instant_ns, from_instant=from_instant, in_common=in_common)
        else:
            opened_ns = _counted_from(instant_ns, self.tick(instant_ns), in_common=in_common)
            self.columns["time_ns"][0] = opened_ns
        self.slices["opened_ns"].append(instant_ns if from_instant else opened_ns)
        return opened_ns

    def tick(self, instant_ns: int | None) -> int:
        """Read the clock, the counters, and the CPU time of the calling thread.

        `instant_ns` is when this tick was due (None: now). Returns the time read, monotonic ns.
        """
        time_ns, *counters = self._read()
        self._ticks.add((time_ns if instant_ns is None else instant_ns, time_ns, *counters))
        return time_ns

    def _go_on(self, instant_ns: int, *, from_instant: bool, in_common: bool) -> int:
        """Count nothing of what happened since the last tick. Returns from when time counts, ns."""
        now_ns, *counters = self._read()
        counts_from_ns = _counted_from(instant_ns, now_ns, in_common=in_common)
        if from_instant:
            counts_from_ns = instant_ns
        due_ns, taken_ns = self.columns["instant_ns"][-1], self.columns["time_ns"][-1]
        assert due_ns is not None
        assert taken_ns is not None
        # Instants are on the same clock: lateness stays.
        self._ticks.leave_out((counts_from_ns + due_ns - taken_ns, counts_from_ns, *counters))
        return counts_from_ns

    def _read(self) -> tuple[int, int, int, int, int, int | None]:
        worker = self._worker
        return (
            time.monotonic_ns(),
            worker.operations,
            worker.errors,
            worker.bytes,
            time.thread_time_ns(),
            minor_faults(),
        )

    def close(self, instant_ns: int | None) -> int:
        """Take the last tick of the window or of a slice; return when it was taken."""
        # Before the tick, as when it opened: a slice is short against a thread's wait for a CPU.
        used = thread_use()
        taken_ns = self.tick(instant_ns)
        self.use = added(self.use, gained(self._opened, used))
        self.slices["closed_ns"].append(taken_ns)
        if self._readback:
            self._readback.closed()
        return taken_ns
