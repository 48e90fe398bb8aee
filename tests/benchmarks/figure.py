"""What a benchmark is asked for, and what it answers."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scaling.analysis.statistics.intervals import medians
from scaling.study.presets import FEWEST_FOR_INTERVAL


@dataclass(frozen=True)
class Effort:
    """How much is run: pairs or repetitions, and seconds of a window.

    `folder` is for the data of a benchmark that keeps any. `cells` are the names of those that a
    benchmark of several is to measure; none: all. `against` is the driver that this one is compared
    with: a folder or a git revision.
    """

    pairs: int = 10
    window_s: float = 1.0
    folder: Path | None = None
    cells: tuple[str, ...] = ()
    against: str = "HEAD"


@dataclass(frozen=True)
class Figure:
    """A median over runs with its range, and its target where there is one."""

    name: str
    values: Sequence[float]
    at_least: float | None = None
    at_most: float | None = None
    unit: str = ""  # " s", " MiB"; none for a ratio
    detail: str = ""

    def __str__(self) -> str:
        found = medians(np.array(self.values)[:, np.newaxis])
        low, high = found.low[0], found.high[0]
        known = len(self.values) >= FEWEST_FOR_INTERVAL
        interval = f", 95 % interval {low:.3f} to {high:.3f}" if known else ""
        middle = statistics.median(self.values)
        target = "no target"
        if self.at_least is not None:
            met = "met" if middle >= self.at_least else "not met"
            target = f"target at least {self.at_least:g}{self.unit}: {met}"
        if self.at_most is not None:
            met = "met" if middle <= self.at_most else "not met"
            target = f"target at most {self.at_most:g}{self.unit}: {met}"
        detail = f" | {self.detail}" if self.detail else ""
        return (
            f"{self.name:<34} {middle:7.3f}{self.unit} ({min(self.values):.3f} to "
            f"{max(self.values):.3f}, {len(self.values)} runs{interval}), {target}{detail}"
        )
