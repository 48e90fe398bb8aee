"""Columns that are fields of a run's line as they stand: where each is found."""

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from scaling.analysis.table.stacks import Floats
from scaling.journal.record import RunLine

ASKED = {
    "workload": "cell.workload",
    "loop": "cell.loop",
    "arm": "cell.arm",
    "model": "cell.model",
    "sizing": "cell.sizing",
    "region": "cell.region",
    "twin": "cell.twin",
    "block": "block",
    "position": "position",
    "attempt": "attempt",
    "outcome": "outcome",
    "at": "at",
}

# `clock_step_s` is in no column; it is there to be judged.
OUTSIDE = {
    "workers": "cell.workers",
    "baseline_rss_bytes": "memory.baseline_rss_bytes",
    "rss_bytes": "memory.rss_bytes",
    "pss_bytes": "memory.pss_bytes",
    "uss_bytes": "memory.uss_bytes",
    "peak_bytes": "memory.peak_bytes",
    "elapsed_s": "elapsed_s",
    "steal_fraction": "disturbance.steal_fraction",
    "other_cpu_fraction": "disturbance.other_cpu_fraction",
    "throttled_s": "disturbance.throttled_s",
    "clock_step_s": "disturbance.clock_step_s",
}


def asked(runs: Sequence[RunLine]) -> dict[str, list[Any]]:
    """What was to be run, when, and how it ended: a list per column."""
    return {name: list(map(attrgetter(path), runs)) for name, path in ASKED.items()}


def outside(runs: Sequence[RunLine]) -> dict[str, Floats]:
    """What was seen of the runs from outside, NaN for what was not; shape (runs,) each."""
    seen = {name: _numbers(map(attrgetter(path), runs)) for name, path in OUTSIDE.items()}
    return seen | {"site_busy_fraction": _numbers(map(_busiest, runs))}


def _numbers(values: "map[float | None]") -> Floats:
    return np.array(list(values), dtype=np.float64)


def _busiest(run: RunLine) -> float | None:
    busy = [use.busy_fraction for use in run.services.values() if use.busy_fraction is not None]
    return max(busy, default=None)
