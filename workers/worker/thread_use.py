"""What a loop's thread has used so far, by kind: what CPU time alone does not say.

Read at both ends of the window, or of each of its slices. All readings are the kernel's counters of
this thread, and reading them takes some microseconds.
"""

import os
import time

from workers.readback.process import collector_ns

SCHEDSTAT = "/proc/thread-self/schedstat"  # ns on CPU, ns in the run queue, times it was run
LONGEST_BYTES = 128

try:
    from resource import RUSAGE_THREAD, getrusage

    def _user_and_system_ns() -> tuple[int | None, int | None]:
        usage = getrusage(RUSAGE_THREAD)
        return round(usage.ru_utime * 1e9), round(usage.ru_stime * 1e9)
except ImportError:  # not Linux: the figures stay blank

    def _user_and_system_ns() -> tuple[int | None, int | None]:
        return None, None


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
    """What the counters gained between two readings."""
    pairs = zip(before.items(), after.values(), strict=True)
    return {
        name: None if then is None or now is None else now - then for (name, then), now in pairs
    }


def added(so_far: ThreadUse | None, more: ThreadUse) -> ThreadUse:
    """What counters gained in two stretches of time together; None: there was none before."""
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
