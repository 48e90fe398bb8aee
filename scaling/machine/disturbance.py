"""Other load of the machine during a run: steal, quota throttling, other programs."""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt
import psutil

from scaling.journal.record import Disturbance
from scaling.machine.topology import cpu_folders

# Of all CPUs: more steal than this makes a run suspect. It is the smallest difference that a
# verdict counts as one: workers cannot use CPU time that was not there.
MOST_STEAL = 0.02

# Of the workers' cores: less cannot be distinguished from the scheduler's own work.
MOST_CROWDING = 0.10

CLOCK_READINGS = 5  # of less than a microsecond each, unless something comes between


@dataclass(frozen=True)
class MachineTimes:
    """CPU seconds of the whole machine since its start, and throttled seconds by control group.

    `throttled_s` has each group that this process is in and that counts throttling, by its folder.
    `clock_offset_s` is how far the wall clock is ahead of the monotonic one.
    """

    total_s: float
    idle_s: float
    steal_s: float
    load_1m: float | None
    throttled_s: Mapping[Path, float] = field(default_factory=dict)
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
            load_1m=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
            throttled_s=_throttled_s(),
            clock_offset_s=clock_offset_s(),
        )


def disturbance(before: MachineTimes, after: MachineTimes, ours_cpu_s: float) -> Disturbance:
    """The disturbance of a run between two readings; `ours_cpu_s` is the run's own CPU time.

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
    # By group first: a maximum at each reading would hide a group that throttles us now behind one
    # that throttled more in the past.
    throttled = (
        seconds - before.throttled_s[group]
        for group, seconds in after.throttled_s.items()
        if group in before.throttled_s
    )
    return Disturbance(
        load_1m=after.load_1m,
        steal_fraction=steal_s / total_s,
        throttled_s=max(throttled, default=None),
        other_cpu_fraction=max(0.0, busy_s - ours_cpu_s) / total_s,
        clock_step_s=step_s,
    )


def crowding(seen: Disturbance, workers: int, cpus: int | None) -> bool:
    """Whether others took CPU time that so many workers could have used, by all that is known.

    `cpus` are the machine's, None if we may not use them all: others were perhaps on CPUs that are
    not ours, so steal alone counts.
    """
    if (seen.steal_fraction or 0.0) > MOST_STEAL:
        return True
    if cpus is None:
        return False
    return bool(crowded(seen.other_cpu_fraction or 0.0, cpus, min(workers, cpus)))


def crowded(
    other: npt.ArrayLike, cpus: npt.ArrayLike, needed: npt.ArrayLike
) -> npt.NDArray[np.bool]:
    """Whether others, who took the share `other` of all `cpus`, left too few of the `needed` ones.

    Each is a number, or an array with one entry per run; NaN where it is not known, which is not
    crowded.
    """
    total, wanted = np.asarray(cpus, np.float64), np.asarray(needed, np.float64)
    missing = np.asarray(other, np.float64) * total - (total - wanted)
    return np.asarray(missing > MOST_CROWDING * wanted)


def clock_offset_s(
    wall_ns: Callable[[], int] = time.time_ns, monotonic_ns: Callable[[], int] = time.monotonic_ns
) -> float:
    """The lead of the wall clock over the monotonic one, s.

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


def _throttled_s() -> dict[Path, float]:
    """Throttled time of each control group that this process is in.

    A group counts its own quota alone, so one further up (a container, a slice) may throttle us
    while ours has counted nothing.
    """
    counted = ((folder, _throttled_in(folder / "cpu.stat")) for folder in cpu_folders())
    return {folder: seconds for folder, seconds in counted if seconds is not None}


def _throttled_in(stat: Path) -> float | None:
    try:
        counts = dict(line.split() for line in stat.read_text(encoding="ascii").splitlines())
    except (OSError, ValueError):
        return None
    if "throttled_usec" in counts:
        return int(counts["throttled_usec"]) / 1e6
    if "throttled_time" in counts:
        return int(counts["throttled_time"]) / 1e9
    return None
