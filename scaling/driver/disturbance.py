"""What the machine did besides the run: steal, quota throttling, other programs, load."""

import os
from dataclasses import dataclass
from typing import Self

import psutil

from scaling.journal.record import Disturbance
from scaling.machine.cgroup import cpu_folders


@dataclass(frozen=True)
class MachineTimes:
    """CPU seconds of the whole machine since it was started, and of this cgroup's throttling."""

    total_s: float
    idle_s: float
    steal_s: float
    throttled_s: float | None
    load_1m: float | None

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
        )


def disturbance(before: MachineTimes, after: MachineTimes, ours_cpu_s: float) -> Disturbance:
    """What disturbed a run between two readings; `ours_cpu_s` is the run's own CPU time.

    Fractions are of all CPUs' time between the readings.
    """
    total_s = after.total_s - before.total_s
    if total_s <= 0:
        return Disturbance(load_1m=after.load_1m)
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
    )


def _throttled_s() -> float | None:
    """Throttled time of the innermost control group that counts it."""
    for folder in cpu_folders():
        try:
            stat = (folder / "cpu.stat").read_text(encoding="ascii")
            told = dict(line.split() for line in stat.splitlines())
        except (OSError, ValueError):
            continue
        if "throttled_usec" in told:
            return int(told["throttled_usec"]) / 1e6
        if "throttled_time" in told:
            return int(told["throttled_time"]) / 1e9
    return None
