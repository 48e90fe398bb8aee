"""What a ratio comes to: `faster`, `slower`, `same` or `can't tell`, by one rule everywhere.

Two arms that differ by less than a margin are the same for every purpose, so a ratio is held
against 1 ± margin and not against 1. A word other than `can't tell` takes both the interval that is
printed beside the ratio and a test on the logarithms of the ratios:

    faster   the interval lies above 1 + margin, and so does the mean log ratio (t test)
    slower   the same below 1 - margin
    same     the interval lies between 1 - margin and 1 + margin, and so does the mean log ratio
             (two one-sided t tests: D. J. Schuirmann, J. Pharmacokin. Biopharm. 15 (1987), 657);
             never where the margin is wider than `WIDEST_SAME`

A table asks many questions at once, and one in twenty would be answered by chance. The tests of a
table are a family: S. Holm's correction (Scand. J. Statist. 6 (1979), 65) keeps the chance that any
of its words `faster` and `slower` is wrong below 5 %, and likewise that any of its `same` is. With
fewer than six blocks nothing is told, and nothing is tested.
"""

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from scaling.analysis.statistics import unpaired
from scaling.analysis.statistics.estimate import Estimate, Floats, median
from scaling.base.formats import percent
from scaling.study.presets import FEWEST_FOR_INTERVAL

ERROR_RATE = 0.05  # of a whole family
RATIO = "×"

# A margin is as wide as twins came apart. On a machine on which they did so by more than a tenth,
# that two cells differ by no more than that too does not make them the same.
WIDEST_SAME = 0.1

type Word = Literal["faster", "slower", "more", "less", "same", "can't tell"]


class Direction(NamedTuple):
    """How a ratio below and one above the margin are spoken of."""

    below: Word
    above: Word


RATE = Direction("slower", "faster")  # of throughput
COST = Direction("less", "more")  # of CPU time and memory


@dataclass(frozen=True, slots=True)
class Verdict:
    """One word for a ratio, how it was come by, and why it could be none other.

    `p_differs` is the chance of such a ratio, or one farther off, if it were inside 1 ± `margin`
    (twice that of the side on which the median is); `p_same` that of one as near to 1 if it were
    outside. Both are Holm's, of the family that the ratio belongs to; NaN where nothing was tested.
    """

    word: Word
    margin: float
    p_differs: float = math.nan
    p_same: float = math.nan
    why: str = ""

    @property
    def side(self) -> int:
        """1 where the ratio is above the margin for certain, -1 where below, else 0."""
        return {RATE.above: 1, COST.above: 1, RATE.below: -1, COST.below: -1}.get(self.word, 0)


@dataclass(frozen=True, slots=True)
class RatioVerdict(Estimate):
    """The estimate of a ratio with its verdict."""

    verdict: Verdict = field(kw_only=True)


class Hypothesis(NamedTuple):
    """One ratio before its family is known: its estimate, and the p-values of its own tests.

    They are NaN where the ratio cannot be tested.
    """

    value: Estimate
    margin: float
    p_differs: float
    p_same: float
    direction: Direction = RATE


def ask(ratios: Floats, margin: float, direction: Direction = RATE) -> Hypothesis:
    """The question that ratios of shape (blocks,) put, paired inside blocks.

    Raises:
        ValueError: the margin is not a number of at least 0.
    """
    value = median(ratios, RATIO)
    known = ratios[np.isfinite(ratios)]
    return Hypothesis(value, margin, *_p_values(value, margin, known), direction)


def ask_unpaired(
    ours: Floats, theirs: Floats, margin: float, direction: Direction = RATE
) -> Hypothesis:
    """The question that two studies put: their runs are not paired, and the tests are Welch's.

    Values that are not finite and positive are left out, as in `unpaired.ratio`.

    Raises:
        ValueError: the margin is not a number of at least 0.
    """
    ours, theirs = (side[np.isfinite(side) & (side > 0)] for side in (ours, theirs))
    value = unpaired.ratio(ours, theirs, RATIO)
    return Hypothesis(value, margin, *_p_values(value, margin, ours, theirs), direction)


def judged(family: Sequence[Hypothesis]) -> list[RatioVerdict]:
    """The answers to all questions of one table, in their order."""
    differs = _holm([each.p_differs for each in family])
    same = _holm([each.p_same for each in family])
    return [_judge(*each) for each in zip(family, differs, same, strict=True)]


def _judge(question: Hypothesis, p_differs: float, p_same: float) -> RatioVerdict:
    value, margin = question.value, question.margin
    word: Word = "can't tell"
    why = ""
    if value.n < FEWEST_FOR_INTERVAL:
        why = f"fewer than {FEWEST_FOR_INTERVAL} blocks" if value.n else "no value"
    elif math.isnan(p_differs):
        why = "a ratio is not above 0"
    elif value.low > 1 + margin or value.high < 1 - margin:
        if p_differs < ERROR_RATE:
            word = question.direction.above if value.low > 1 else question.direction.below
        else:
            why = "by chance in more than 5 % of such tables"
    elif 1 - margin < value.low and value.high < 1 + margin:
        if margin > WIDEST_SAME:
            why = f"a margin of {percent(margin)} is too wide to call anything the same"
        elif p_same < ERROR_RATE:
            word = "same"
        else:
            why = "by chance in more than 5 % of such tables"
    else:
        why = "its interval lies neither inside nor outside of the margin"
    verdict = Verdict(word, margin, p_differs, p_same, why)
    return RatioVerdict(*astuple(value), verdict=verdict)


def _holm(p_values: Sequence[float]) -> list[float]:
    """Holm's p-values; what was not tested (NaN) is no member of the family.

    The same as statsmodels' multipletests, which collects garbage at every call: that takes longer
    than all else here, and the longer the more runs a study has.
    """
    found = np.array(p_values, dtype=np.float64)
    tested = np.flatnonzero(np.isfinite(found))
    rising = tested[np.argsort(found[tested])]
    times = np.arange(len(rising), 0, -1)
    found[rising] = np.minimum(1.0, np.maximum.accumulate(found[rising] * times))
    adjusted: list[float] = found.tolist()
    return adjusted


def _p_values(
    value: Estimate, margin: float, ours: Floats, theirs: Floats | None = None
) -> tuple[float, float]:
    """That they differ, that they are the same; NaN for too few values or any that has no log.

    They can only differ to the side on which the median is. Where some blocks are far to the other
    side, the mean may be there, too, and proves nothing for either. Without a margin, or with one
    that is too wide, nothing can be the same: that is not asked, and no member of the family.

    Raises:
        ValueError: the margin is not a number of at least 0.
    """
    if not margin >= 0:
        raise ValueError(f"a margin is a number of at least 0, not {margin}")
    sides = [ours] if theirs is None else [ours, theirs]
    if min(map(len, sides)) < FEWEST_FOR_INTERVAL or any((side <= 0).any() for side in sides):
        return math.nan, math.nan
    with np.errstate(divide="ignore"):  # a margin of 1: nothing is below
        low, high = float(np.log1p(-min(margin, 1.0))), float(np.log1p(margin))
    logs = np.log(ours)
    against = np.zeros(1) if theirs is None else np.log(theirs)
    if np.ptp(logs) == np.ptp(against) == 0:  # there is no t without a spread
        middle = logs[0] - against[0]
        differs, same = 1.0 - (middle > high or middle < low), 1.0 - (low < middle < high)
    else:
        of = _one_sample(logs, low, high) if theirs is None else _welch(logs, against, low, high)
        differs, same = min(1.0, 2 * (of.above if value.point > 1 else of.below)), of.same
    return differs, same if 0 < margin <= WIDEST_SAME else math.nan


class _Tested(NamedTuple):
    """p-values of one-sided tests: above the margin, below it, inside of it."""

    above: float
    below: float
    same: float


def _one_sample(logs: Floats, low: float, high: float) -> _Tested:
    from statsmodels.stats.weightstats import DescrStatsW  # slow to import

    of = DescrStatsW(logs)
    _, above, _ = of.ttest_mean(high, alternative="larger")
    _, below, _ = of.ttest_mean(low, alternative="smaller")
    same, *_ = of.ttost_mean(low, high)
    return _Tested(float(above), float(below), float(same))


def _welch(ours: Floats, theirs: Floats, low: float, high: float) -> _Tested:
    from statsmodels.stats.weightstats import CompareMeans, DescrStatsW  # slow to import

    of = CompareMeans(DescrStatsW(ours), DescrStatsW(theirs))
    _, above, _ = of.ttest_ind("larger", usevar="unequal", value=high)
    _, below, _ = of.ttest_ind("smaller", usevar="unequal", value=low)
    same, *_ = of.ttost_ind(low, high, usevar="unequal")
    return _Tested(float(above), float(below), float(same))
