"""What freed the speed: the headline ratio of a version with its steps, as one thing to show.

The ratios and their rule are in `scaling.study.questions.ladder`. In each block the factors
multiply to the headline exactly; their medians need not, and `multiplies_out` says whether they do.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.comparison.compare import Compared
from scaling.analysis.ratios import Ratio
from scaling.builds.arms import VersionArms, rising, version_arms
from scaling.journal.record import Cell
from scaling.study.questions import THROUGHPUT

ROUNDING = 1e-9  # relative: what multiplying and dividing floats loses, and more


@dataclass(frozen=True, slots=True)
class Ladder:
    """All steps at one N, from the blocks in which every rung was valid.

    `missing` are the rungs between the ends that were not measured, or in too few blocks.
    """

    headline: Ratio
    steps: list[Ratio]
    missing: list[str]

    @property
    def workers(self) -> int:
        """N."""
        return self.headline.of.workers

    @property
    def bottom(self) -> Cell:
        """The rung that the headline is over."""
        return self.headline.over

    @property
    def top(self) -> Cell:
        """The rung that the headline is of."""
        return self.headline.of

    @property
    def cells(self) -> list[Cell]:
        """Every rung measured, from the bottom."""
        return [self.bottom, *(step.of for step in self.steps)]

    @property
    def product(self) -> float:
        """The medians of the factors, multiplied."""
        return math.prod(step.point for step in self.steps)

    @property
    def multiplies_out(self) -> bool:
        """Whether `product` lies within the headline's interval (or range)."""
        whole = self.headline
        return whole.low * (1 - ROUNDING) <= self.product <= whole.high * (1 + ROUNDING)


def ladders(compared: Compared) -> list[Ladder]:
    """The ladder of every version at every N that has two rungs of it or more; none at a rate."""
    return [_ladder(each, compared) for each in compared.ratios.where("headline")]


def _ladder(headline: Ratio, compared: Compared) -> Ladder:
    steps = list(_steps(headline, compared))
    rungs = {step.of.arm for step in steps} | {headline.over.arm}
    (version,) = version_arms([headline.of.arm])
    first, last = (version.rungs.index(each.arm) for each in (headline.over, headline.of))
    return Ladder(headline, steps, [a for a in version.rungs[first:last] if a not in rungs])


def _steps(headline: Ratio, compared: Compared) -> Iterator[Ratio]:
    """From the bottom rung to the top one, each beginning where the one before it ended."""
    after = {each.over: each for each in compared.ratios.where("step")}
    at = headline.over
    while at != headline.of:
        step = after[at]
        yield step
        at = step.of


# ------------------------------------------------------------------------------------ version lines
# What each build of each version of Python costs, and what more loops gain on it.
#
# Two lines over the versions, with the GIL and without: throughput at N = 1 over that of the oldest
# build, and throughput at N over that at N = 1, both block by block.

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


# --------------------------------------------------------------------------------------- break even
# Break-even: the smallest N at which free-threaded threads beat the best single GIL process.
#
# They do where the verdict is `faster` (`scaling.study.questions.break_even`).

type Outcome = Literal["reached", "never", "inconclusive"]


@dataclass(frozen=True, slots=True)
class BreakEven:
    """Threads of one arm at each N over the same single worker: the ratios, N ascending."""

    ratios: list[Ratio]

    @property
    def at(self) -> Ratio | None:
        """That at the smallest N at which threads are faster."""
        return next((each for each in self.ratios if each.verdict.side > 0), None)

    @property
    def undecided(self) -> list[int]:
        """The Ns at which the verdict is inconclusive."""
        return [each.of.workers for each in self.ratios if not each.verdict.is_decided]

    @property
    def outcome(self) -> Outcome:
        """`never` only where threads were slower or the same at every N; an inconclusive N leaves
        it open.
        """
        if self.at is not None:
            return "reached"
        return "inconclusive" if self.undecided else "never"


def break_evens(compared: Compared) -> list[BreakEven]:
    """One for every version that has threads without the GIL and a single worker with it."""
    asked = compared.ratios.where("break-even")
    return [BreakEven(list(few)) for _, few in groupby(asked, key=lambda each: each.of.arm)]
