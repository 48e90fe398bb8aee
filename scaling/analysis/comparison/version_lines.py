"""What each build of each version of Python costs, and what more loops gain on it.

Two lines over the versions, with the GIL and without: throughput at N = 1 over that of the oldest
build, and throughput at N over that at N = 1, both block by block.
"""

from dataclasses import dataclass

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.comparison.compare import Compared
from scaling.builds.version_arms import VersionArms, rising, version_arms
from scaling.journal.record import Cell
from scaling.study.questions import THROUGHPUT

MODEL = "threads"
FEWEST_VERSIONS = 2


@dataclass(frozen=True, slots=True)
class VersionPoint:
    """One build. `cost` and `gain` are ratios of throughput, shape (blocks,), NaN for no value."""

    version: str
    arm: str
    cost: Floats
    gain: Floats


@dataclass(frozen=True, slots=True)
class VersionLines:
    """The builds of one section and loop, oldest version first.

    `oldest` is the arm that `cost` is over, with the GIL if any was measured; `workers` is the N of
    `gain`, which has no values where that is 1.
    """

    compared: Compared
    oldest: str
    workers: int
    with_gil: list[VersionPoint]
    free: list[VersionPoint]

    @property
    def points(self) -> list[VersionPoint]:
        """All builds, those with the GIL first."""
        return [*self.with_gil, *self.free]


def version_lines(runs: Compared) -> VersionLines | None:
    """The lines of a section; None where fewer than two versions ran at N = 1."""
    versions = rising(each.version for each in version_arms(runs.arms))
    arms = [(version, version) for version in versions]
    free = [(version, VersionArms(version).free) for version in versions]
    measured = runs.measured(runs.cell(arm, MODEL, 1) for _, arm in (*arms, *free))
    if not measured:
        return None
    oldest, n = measured[0], runs.headline_n

    def points(builds: list[tuple[str, str]]) -> list[VersionPoint]:
        found = []
        for version, arm in builds:
            alone, together = runs.cell(arm, MODEL, 1), runs.cell(arm, MODEL, n)
            if alone in measured:
                cost = _over(runs, alone, oldest)
                gain = _over(runs, together, alone)
                gain = gain if n > 1 else np.full_like(gain, np.nan)
                found.append(VersionPoint(version, arm, cost, gain))
        return found

    lines = VersionLines(runs, oldest.arm, n, points(arms), points(free))
    return lines if len({point.version for point in lines.points}) >= FEWEST_VERSIONS else None


def _over(runs: Compared, of: Cell, over: Cell) -> Floats:
    """Throughput over throughput, shape (blocks,)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return runs.of(of, THROUGHPUT) / runs.of(over, THROUGHPUT)
