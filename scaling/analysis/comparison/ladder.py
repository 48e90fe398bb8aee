"""What freed the speed: the headline ratio of a version taken apart into its steps.

    3.14 → 3.14+mimalloc → 3.14t+gil → 3.14t        allocator × build × GIL = headline

In each block the factors multiply to the headline exactly, since every rung stands once above and
once below the line; their medians need not, and `multiplies_out` says whether they do. A rung that
was not measured is left out, and the step across it bears both names.
"""

import math
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np

from scaling.analysis.comparison.families import Family, changes, families
from scaling.analysis.comparison.paired import Configuration, Paired
from scaling.analysis.statistics.estimate import Floats
from scaling.analysis.statistics.verdict import RatioVerdict, ask, judged

MODEL = "threads"
# A rung between the ends must be valid in so many of the blocks in which the ends are. With fewer
# it would take the blocks away from the steps beside it.
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

    `missing` are the rungs between the ends that could not be stepped on. Ladders of the same rungs
    stand in one table, and their verdicts are one family.
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


class _Climb(NamedTuple):
    """A ladder before its family is known; factors are of shape (blocks,), the headline's last."""

    workers: int
    rungs: list[Configuration]
    names: list[str]
    factors: list[Floats]
    missing: list[str]

    @property
    def arms(self) -> list[str]:
        return [rung.arm for rung in self.rungs]


def ladders(runs: Paired) -> list[Ladder]:
    """The ladder of every version at every N that has two rungs of it or more."""
    every = (_climb(runs, family, n) for family in families(runs.arms) for n in runs.workers)
    climbs = (climb for climb in every if climb is not None)
    return [
        ladder
        for _, alike in groupby(climbs, key=lambda climb: climb.arms)
        for ladder in _judged(list(alike), runs.margin("throughput"))
    ]


def _judged(climbs: list[_Climb], margin: float) -> list[Ladder]:
    """Ladders of the same rungs, all their factors judged together."""
    answers = iter(judged([ask(each, margin) for climb in climbs for each in climb.factors]))
    found = []
    for climb in climbs:
        named = zip(climb.names, pairwise(climb.rungs), climb.factors[:-1], strict=True)
        steps = [
            Step(name, *configurations, next(answers), values)
            for name, configurations, values in named
        ]
        found.append(Ladder(climb.workers, steps, next(answers), climb.missing))
    return found


def _climb(runs: Paired, family: Family, workers: int) -> _Climb | None:
    measured = runs.measured(Configuration(arm, MODEL, workers) for arm in family.rungs)
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
    names = [changes(before.arm, after.arm, family) for before, after in pairwise(rungs)]
    span = family.rungs[family.rungs.index(bottom.arm) : family.rungs.index(top.arm)]
    missing = [arm for arm in span if arm not in {rung.arm for rung in rungs}]
    return _Climb(workers, rungs, names, factors, missing)
