"""The verdict on a ratio: `faster`, `slower`, `same` or `inconclusive`, by one rule everywhere.

Two cells that differ by less than a margin are the same for every purpose, so a ratio is compared
with a margin around 1 and not with 1. It reaches from 1 / (1 + margin) to 1 + margin, so that a
ratio and its inverse have the same verdict. A word other than `inconclusive` needs both the
interval that is printed beside the ratio and a test on the logarithms of the ratios:

    faster   the interval lies above 1 + margin, and so does the mean log ratio (t test)
    slower   the same below 1 / (1 + margin)
    same     the interval lies between the two, and so does the mean log ratio (two one-sided t
             tests: D. J. Schuirmann, J. Pharmacokin. Biopharm. 15 (1987), 657); never where the
             margin is wider than `WIDEST_SAME`

A study tests many hypotheses at once, in two families, and what is significant is decided after the
correction of each (`scaling.analysis.statistics.families`). With fewer than six blocks nothing is
tested.
"""

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import Literal, NamedTuple, Self

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.statistics import t_test, unpaired
from scaling.analysis.statistics.estimate import Estimate, median
from scaling.analysis.statistics.families import CORRECTIONS, Family, corrected
from scaling.base.formats import percent
from scaling.study.presets import FEWEST_FOR_INTERVAL

ERROR_RATE = 0.05  # of a whole family
RATIO = "×"

# The margin is at least the A/A spread. On a machine where that is more than a tenth, two cells
# within the margin may still differ too much to be called the same.
WIDEST_SAME = 0.1

type Place = Literal["outside", "inside", "across"]
type Word = Literal["faster", "slower", "more", "less", "better", "worse", "same", "inconclusive"]


class Direction(NamedTuple):
    """The words for a ratio below and one above the margin."""

    below: Word
    above: Word


RATE = Direction("slower", "faster")  # of throughput
COST = Direction("less", "more")  # of CPU time and memory
LATENCY = Direction("faster", "slower")


@dataclass(frozen=True, slots=True)
class Verdict:
    """One word for a ratio, what it rests on, and `why` it is `inconclusive` where it is.

    `direction` has the words for both sides of 1: of a latency, `faster` is below.
    `p_differs` is the chance of such a ratio, or one farther off, if it were inside the `margin`
    (twice that of the side on which the median is); `p_same` that of one as near to 1 if it were
    outside. Both are corrected for the other hypotheses of the `family`; NaN where nothing was
    tested.
    """

    word: Word
    margin: float
    p_differs: float = math.nan
    p_same: float = math.nan
    why: str = ""
    family: Family = "primary"
    direction: Direction = RATE

    @property
    def is_decided(self) -> bool:
        """Whether the word is anything but `inconclusive`."""
        return self.word != "inconclusive"

    @property
    def side(self) -> int:
        """1 where the ratio is proven to be above the margin, -1 where below, else 0."""
        return {self.direction.above: 1, self.direction.below: -1}.get(self.word, 0)

    def holds_between(self, least: float, most: float) -> bool:
        """Whether the word holds for every median from `least` to `most`: where values are bounds,
        the true median may be any of these.
        """
        if self.word == "same":
            lowest, highest = reach(self.margin)
            return lowest <= least and most <= highest
        return {1: least > 1, -1: most < 1}.get(self.side, True)


@dataclass(frozen=True, slots=True)
class RatioVerdict(Estimate):
    """The estimate of a ratio with its verdict."""

    verdict: Verdict = field(kw_only=True)

    def undecided(self, why: str) -> Self:
        """The same ratio where it proves nothing, with the reason."""
        return replace(self, verdict=replace(self.verdict, word="inconclusive", why=why))


def reach(margin: float) -> tuple[float, float]:
    """The least and the greatest ratio within a margin."""
    return 1 / (1 + margin), 1 + margin


def place(interval: Estimate, margin: float) -> Place:
    """Where an interval is: outside a margin around 1, inside it, or across either of its ends."""
    low, high = reach(margin)
    if interval.low > high or interval.high < low:
        return "outside"
    return "inside" if low < interval.low and interval.high < high else "across"


class Hypothesis(NamedTuple):
    """One ratio before its family is known: its estimate, and the p-values of its own tests.

    They are NaN where the ratio cannot be tested.
    """

    value: Estimate
    margin: float
    p_differs: float
    p_same: float
    direction: Direction = RATE
    family: Family = "primary"


def hypothesis(
    ratios: Floats, margin: float, direction: Direction = RATE, family: Family = "primary"
) -> Hypothesis:
    """That ratios of shape (blocks,), paired inside blocks, differ from 1 by more than `margin`.

    Raises:
        ValueError: the margin is not a number of at least 0.
    """
    value = median(ratios, RATIO)
    known = ratios[np.isfinite(ratios)]
    return Hypothesis(value, margin, *_p_values(value, margin, known), direction, family)


def unpaired_hypothesis(
    ours: Floats,
    theirs: Floats,
    margin: float,
    direction: Direction = RATE,
    family: Family = "primary",
) -> Hypothesis:
    """The same of two studies, whose runs are not paired: the tests are Welch's.

    Values that are not finite and positive are left out, as in `unpaired.ratio`.

    Raises:
        ValueError: the margin is not a number of at least 0.
    """
    ours, theirs = (side[np.isfinite(side) & (side > 0)] for side in (ours, theirs))
    value = unpaired.ratio(ours, theirs, RATIO)
    return Hypothesis(value, margin, *_p_values(value, margin, ours, theirs), direction, family)


def judge(hypotheses: Sequence[Hypothesis]) -> list[RatioVerdict]:
    """The verdicts on all hypotheses of a study, in order, each family corrected by itself."""
    families = [each.family for each in hypotheses]
    differs = corrected([each.p_differs for each in hypotheses], families)
    same = corrected([each.p_same for each in hypotheses], families)
    return [_verdict(*each) for each in zip(hypotheses, differs, same, strict=True)]


def _verdict(tested: Hypothesis, p_differs: float, p_same: float) -> RatioVerdict:
    value, margin = tested.value, tested.margin
    low, high = reach(margin)
    where = place(value, margin)
    word: Word = "inconclusive"
    why = ""
    if value.n < FEWEST_FOR_INTERVAL:
        why = f"fewer than {FEWEST_FOR_INTERVAL} blocks" if value.n else "no value"
    elif math.isnan(p_differs):
        why = "a ratio is not above 0"
    elif where == "outside":
        if p_differs < ERROR_RATE:
            word = tested.direction.above if value.low > 1 else tested.direction.below
        else:
            why = f"not significant after {CORRECTIONS[tested.family].name} correction (5 %)"
    elif where == "inside":
        if margin > WIDEST_SAME:
            why = f"a noise of ±{percent(margin)} is too wide to call anything the same"
        elif p_same < ERROR_RATE:
            word = "same"
        else:
            why = f"not significant after {CORRECTIONS[tested.family].name} correction (5 %)"
    elif low <= value.point <= high:
        why = f"within the noise of ±{percent(margin)}"
    else:
        why = f"its interval overlaps the noise of ±{percent(margin)}"
    verdict = Verdict(word, margin, p_differs, p_same, why, tested.family, tested.direction)
    return RatioVerdict(*astuple(value), verdict=verdict)


def _p_values(
    value: Estimate, margin: float, ours: Floats, theirs: Floats | None = None
) -> tuple[float, float]:
    """Of a difference and of sameness; NaN for too few values, or where one has no logarithm.

    They can only differ to the side on which the median is. Where some blocks are far to the other
    side, the mean may be there, too, and proves nothing for either. Without a margin, or with one
    that is too wide, nothing can be the same: that is not tested, and no member of the family.

    Raises:
        ValueError: the margin is not a number of at least 0.
    """
    if not margin >= 0:
        raise ValueError(f"a margin is a number of at least 0, not {margin}")
    sides = [ours] if theirs is None else [ours, theirs]
    if min(map(len, sides)) < FEWEST_FOR_INTERVAL or any((side <= 0).any() for side in sides):
        return math.nan, math.nan
    mean = t_test.mean_of(np.log(ours))
    if theirs is not None:
        mean = t_test.difference(mean, t_test.mean_of(np.log(theirs)))
    low, high = -math.log1p(margin), math.log1p(margin)
    differs = mean.p_above(high) if value.point > 1 else mean.p_below(low)
    same = max(mean.p_above(low), mean.p_below(high))
    return min(1.0, 2 * differs), same if 0 < margin <= WIDEST_SAME else math.nan
