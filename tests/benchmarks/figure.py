"""What a benchmark is asked for, and what it answers."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from scaling.analysis.statistics import estimate


@dataclass(frozen=True)
class Effort:
    """How much is run: pairs or repetitions, and seconds of a window.

    `folder` is for the data and the picture of a benchmark that has one. `cells` are the names of
    those that a benchmark of several is to measure; none: all.
    """

    pairs: int = 10
    window_s: float = 1.0
    folder: Path | None = None
    cells: tuple[str, ...] = ()

    @property
    def is_quick(self) -> bool:
        """Whether it is less than everything."""
        return self.pairs < Effort().pairs

    @classmethod
    def quick(cls) -> Self:
        """Enough to see whether something is far off."""
        return cls(pairs=4, window_s=0.4)


@dataclass(frozen=True)
class Figure:
    """A median over runs with its range, and its target where there is one."""

    name: str
    values: Sequence[float]
    bound: Literal["at least", "at most"]
    target: float | None
    unit: str = ""  # " s", " MiB"; none for a ratio
    detail: str = ""

    @property
    def median(self) -> float:
        """The figure itself."""
        return statistics.median(self.values)

    @property
    def judged(self) -> str:
        """The target, and whether the median keeps to it."""
        if self.target is None:
            return "no target"
        at_least = self.bound == "at least"
        met = self.median >= self.target if at_least else self.median <= self.target
        return f"target {self.bound} {self.target:g}{self.unit}: {'met' if met else 'not met'}"

    @property
    def interval(self) -> str:
        """The 95 % interval of the median; empty where there are too few values for one."""
        found = estimate.median(self.values, self.unit)
        if found.coverage is None:
            return ""
        return f", 95 % interval {found.low:.3f} to {found.high:.3f}"

    def __str__(self) -> str:
        told = (
            f"{self.name:<34} {self.median:7.3f}{self.unit} ({min(self.values):.3f} to "
            f"{max(self.values):.3f}, {len(self.values)} runs{self.interval}), {self.judged}"
        )
        return f"{told} | {self.detail}" if self.detail else told
