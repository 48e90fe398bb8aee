"""What freed the speed: the headline ratio of a version, split into its steps.

    3.14 → 3.14+mimalloc → 3.14t+gil → 3.14t        allocator × build × GIL = headline

In each block the factors multiply to the headline exactly, since every rung between its ends is
once a numerator and once a divisor; their medians need not, and `multiplies_out` says whether they
do. A rung that was not measured is left out, and the step across it has both names.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.comparison.paired import Configuration, Paired
from scaling.analysis.comparison.version_arms import VersionArms, version_arms
from scaling.analysis.statistics.families import Family
from scaling.analysis.statistics.pending import Pending
from scaling.analysis.statistics.verdict import RatioVerdict, hypothesis

MODEL = "threads"
# A rung between the ends must be valid in this share of the blocks in which the ends are. With
# fewer it would take the blocks away from the steps beside it.
ENOUGH_BLOCKS = 0.5
ROUNDING = 1e-9  # relative: what multiplying and dividing floats loses, and more


@dataclass(frozen=True, slots=True)
class Step:
    """From one rung to the next one measured. `values` are the factors of the single blocks."""

    name: str
    before: Configuration
    after: Configuration
    factor: RatioVerdict
    values: Floats


@dataclass(frozen=True, slots=True)
class Ladder:
    """All steps at one N, from the blocks in which every rung was valid.

    `missing` are the rungs between the ends that were not measured, or in too few blocks.
    """

    workers: int
    steps: list[Step]
    headline: RatioVerdict
    missing: list[str]

    @property
    def bottom(self) -> Configuration:
        """The rung that the headline is over."""
        return self.steps[0].before

    @property
    def top(self) -> Configuration:
        """The rung that the headline is of."""
        return self.steps[-1].after

    @property
    def configurations(self) -> list[Configuration]:
        """Every rung measured, from the bottom."""
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


class _Climb(NamedTuple):
    """A ladder before its verdicts are known.

    `factors` are of shape (blocks,), those of the steps and then the headline's.
    """

    workers: int
    rungs: list[Configuration]
    names: list[str]
    factors: list[Floats]
    missing: list[str]


def ladders(runs: Paired) -> Pending[list[Ladder]]:
    """The ladder of every version at every N that has two rungs of it or more."""
    every = (_climb(runs, version, n) for version in version_arms(runs.arms) for n in runs.workers)
    climbs = [climb for climb in every if climb is not None]
    margin = runs.margin("throughput")
    hypotheses = [
        hypothesis(ratios, margin, family=family)
        for climb in climbs
        for ratios, family in zip(climb.factors, _families(runs, climb), strict=True)
    ]
    return Pending(hypotheses, lambda verdicts: [_ladder(climb, verdicts) for climb in climbs])


def _families(runs: Paired, climb: _Climb) -> list[Family]:
    """Those of the steps, then that of the headline ratio."""
    steps: list[Family] = ["exploratory"] * len(climb.names)
    return [*steps, runs.family("headline", is_headline=climb.workers == runs.headline_n)]


def _ladder(climb: _Climb, verdicts: Iterator[RatioVerdict]) -> Ladder:
    named = zip(climb.names, pairwise(climb.rungs), climb.factors[:-1], strict=True)
    steps = [
        Step(name, *configurations, next(verdicts), values)
        for name, configurations, values in named
    ]
    return Ladder(climb.workers, steps, next(verdicts), climb.missing)


def _climb(runs: Paired, version: VersionArms, workers: int) -> _Climb | None:
    measured = runs.measured(Configuration(arm, MODEL, workers) for arm in version.rungs)
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
    pairs = [*pairwise(rungs), (bottom, top)]
    factors = [runs.ratios(after, before, "throughput")[known] for before, after in pairs]
    names = [version.changes(before.arm, after.arm) for before, after in pairwise(rungs)]
    span = version.rungs[version.rungs.index(bottom.arm) : version.rungs.index(top.arm)]
    missing = [arm for arm in span if arm not in {rung.arm for rung in rungs}]
    return _Climb(workers, rungs, names, factors, missing)
