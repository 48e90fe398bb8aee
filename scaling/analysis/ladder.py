"""What freed the speed: the headline ratio of a version taken apart into its steps.

    3.14 → 3.14+mimalloc → 3.14t+gil → 3.14t        allocator × build × GIL = headline

In each block the factors multiply to the headline exactly, since every rung stands once above and
once below the line; their medians need not, and `multiplies_out` says whether they do. A rung that
was not measured is left out, and the step across it bears both names.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from scaling.analysis.estimate import Estimate, median
from scaling.analysis.families import Family, changes, families
from scaling.analysis.paired import RATIO, Floats, Paired, Way

MODEL = "threads"
# A rung between the ends must be valid in so many of the blocks in which the ends are. With fewer
# it would take the blocks away from the steps beside it.
ENOUGH_BLOCKS = 0.5
ROUNDING = 1e-9  # relative: what multiplying and dividing floats loses, and more


@dataclass(frozen=True, slots=True)
class Step:
    """From one rung to the next one measured. `values` are the factors of the single blocks."""

    name: str
    before: Way
    after: Way
    factor: Estimate
    values: Floats


@dataclass(frozen=True, slots=True)
class Ladder:
    """All steps at one N, from the blocks in which every rung was valid.

    `missing` are the rungs between the ends that could not be stepped on.
    """

    workers: int
    steps: list[Step]
    headline: Estimate
    missing: list[str]

    @property
    def bottom(self) -> Way:
        """The rung that the headline is over."""
        return self.steps[0].before

    @property
    def top(self) -> Way:
        """The rung that the headline is of."""
        return self.steps[-1].after

    @property
    def ways(self) -> list[Way]:
        """Every rung stepped on, from the bottom."""
        return [self.bottom, *(step.after for step in self.steps)]

    @property
    def product(self) -> float:
        """The medians of the factors, multiplied."""
        return math.prod(step.factor.point for step in self.steps)

    @property
    def multiplies_out(self) -> bool:
        """Whether `product` lies within the headline's interval (or range)."""
        low, high = self.headline.low * (1 - ROUNDING), self.headline.high * (1 + ROUNDING)
        return low <= self.product <= high


def ladders(runs: Paired) -> list[Ladder]:
    """The ladder of every version at every N that has two rungs of it or more."""
    found = (_ladder(runs, family, n) for family in families(runs.arms) for n in runs.workers)
    return [ladder for ladder in found if ladder is not None]


def _ladder(runs: Paired, family: Family, workers: int) -> Ladder | None:
    measured = runs.measured(Way(arm, MODEL, workers) for arm in family.rungs)
    if len(measured) < 2:
        return None
    bottom, top = measured[0], measured[-1]
    known = np.isfinite(runs.ratios(top, bottom, "throughput"))
    rungs = [bottom]
    for rung in measured[1:-1]:
        both = known & np.isfinite(runs.ratios(rung, bottom, "throughput"))
        if both.sum() >= ENOUGH_BLOCKS * known.sum():
            rungs.append(rung)
    rungs.append(top)
    for rung in rungs:
        known &= np.isfinite(runs.of(rung, "throughput"))
    if not known.any():
        return None
    steps = [
        _step(family, before, after, runs.ratios(after, before, "throughput")[known])
        for before, after in pairwise(rungs)
    ]
    span = family.rungs[family.rungs.index(bottom.arm) : family.rungs.index(top.arm)]
    missing = [arm for arm in span if arm not in {rung.arm for rung in rungs}]
    headline = median(runs.ratios(top, bottom, "throughput")[known], RATIO)
    return Ladder(workers, steps, headline, missing)


def _step(family: Family, before: Way, after: Way, factors: Floats) -> Step:
    name = changes(before.arm, after.arm, family)
    return Step(name, before, after, median(factors, RATIO), factors)
