"""What freed the speed: the headline ratio of a version with its steps, as one thing to show.

The ratios and their rule are in `scaling.study.questions.ladder`. In each block the factors
multiply to the headline exactly; their medians need not, and `multiplies_out` says whether they do.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from scaling.analysis.comparison.compare import Compared
from scaling.analysis.ratios import Ratio
from scaling.builds.version_arms import version_arms
from scaling.journal.record import Cell

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
