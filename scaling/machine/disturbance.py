"""What the machine did besides the run: steal, quota throttling, other programs, load."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import psutil

from scaling.journal.record import Disturbance
from scaling.machine.cgroup import cpu_folders

# Of all CPUs: from here on steal makes a run suspect. It is the smallest difference that a verdict
# takes for one, since CPU time that never was there cannot be worked in.
MOST_STEAL = 0.02

CLOCK_READINGS = 5  # of less than a microsecond each, unless something comes between


@dataclass(frozen=True)
class MachineTimes:
    """CPU seconds of the whole machine since it was started, and of this cgroup's throttling.

    `clock_offset_s` is how far the wall clock is ahead of the monotonic one.
    """

    total_s: float
    idle_s: float
    steal_s: float
    throttled_s: float | None
    load_1m: float | None
    clock_offset_s: float | None = None

    @classmethod
    def now(cls) -> Self:
        """Read them."""
        times = psutil.cpu_times()
        # Guest time is part of user time already.
        guest_s = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
        return cls(
            total_s=sum(times) - guest_s,
            idle_s=times.idle + getattr(times, "iowait", 0.0),
            steal_s=getattr(times, "steal", 0.0),
            throttled_s=_throttled_s(),
            load_1m=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
            clock_offset_s=clock_offset_s(),
        )


def disturbance(before: MachineTimes, after: MachineTimes, ours_cpu_s: float) -> Disturbance:
    """What disturbed a run between two readings; `ours_cpu_s` is the run's own CPU time.

    Fractions are of all CPUs' time between the readings.
    """
    step_s = None
    if after.clock_offset_s is not None and before.clock_offset_s is not None:
        step_s = round(after.clock_offset_s - before.clock_offset_s, 6)
    total_s = after.total_s - before.total_s
    if total_s <= 0:
        return Disturbance(load_1m=after.load_1m, clock_step_s=step_s)
    steal_s = after.steal_s - before.steal_s
    busy_s = total_s - (after.idle_s - before.idle_s) - steal_s
    throttled = None
    if after.throttled_s is not None and before.throttled_s is not None:
        throttled = after.throttled_s - before.throttled_s
    return Disturbance(
        load_1m=after.load_1m,
        steal_fraction=steal_s / total_s,
        throttled_s=throttled,
        other_cpu_fraction=max(0.0, busy_s - ours_cpu_s) / total_s,
        clock_step_s=step_s,
    )


def clock_offset_s(
    wall_ns: Callable[[], int] = time.time_ns, monotonic_ns: Callable[[], int] = time.monotonic_ns
) -> float:
    """How far the wall clock is ahead of the monotonic one, s.

    The two cannot be read at once. Of a few readings the one is taken that was interrupted least,
    or a busy machine would look like a stepped clock.
    """
    readings = []
    for _ in range(CLOCK_READINGS):
        before = monotonic_ns()
        wall = wall_ns()
        took = monotonic_ns() - before
        readings.append((took, wall - before - took // 2))
    return min(readings)[1] / 1e9


def _throttled_s() -> float | None:
    """Throttled time of the control groups that this process is in, the one with most of it.

    A group counts its own quota alone, so one further up (a container, a slice) may throttle us
    while ours has counted nothing; all of them count while several throttle at once.
    """
    counted = [_throttled_in(folder / "cpu.stat") for folder in cpu_folders()]
    return max((each for each in counted if each is not None), default=None)


def _throttled_in(stat: Path) -> float | None:
    try:
        told = dict(line.split() for line in stat.read_text(encoding="ascii").splitlines())
    except (OSError, ValueError):
        return None
    if "throttled_usec" in told:
        return int(told["throttled_usec"]) / 1e6
    if "throttled_time" in told:
        return int(told["throttled_time"]) / 1e9
    return None
