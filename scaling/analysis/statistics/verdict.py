"""The verdict on a ratio: `faster`, `slower`, `same` or `inconclusive`, by one rule everywhere.

Two cells that differ by less than a margin are the same for every purpose, so a ratio is compared
with a margin around 1 and not with 1. It reaches from 1 / (1 + margin) to 1 + margin, so that a
ratio and its inverse have the same verdict. The margin is a decision, made before anything is
measured (an option of the study, 2 % unless it says otherwise); noise is in the interval, and is
never added to the margin. A word other than `inconclusive` needs both the interval that is printed
beside the ratio and a test on the logarithms of the ratios:

    faster   the interval lies above 1 + margin, and so does the mean log ratio (t test)
    slower   the same below 1 / (1 + margin)
    same     the interval lies between the two, and so does the mean log ratio (two one-sided t
             tests: D. J. Schuirmann, J. Pharmacokin. Biopharm. 15 (1987), 657)

A study tests many hypotheses at once, in two families, and what is significant is decided after the
correction of each (`scaling.analysis.statistics.hypotheses`). With fewer than six blocks nothing is
tested. Ratios that fall apart into two states have no verdict, nor has any on a measure in which
the study's A/A pairs differ (`scaling.analysis.statistics.noise`).

How often a word is wrong, and found where it is due, is simulated with normal noise and tails as
heavy as Student's t with 2 degrees of freedom, with noise that differs between cells, drift,
neighbours that correlate and processes in two states
(tests/analysis/test_verdicts_keep_their_error_rates.py).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import Literal, NamedTuple, Self

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.statistics import estimate
from scaling.analysis.statistics.estimate import RATIO, Estimate, median
from scaling.analysis.statistics.hypotheses import (
    CORRECTIONS,
    ERROR_RATE,
    OF_HODGES_LEHMANN,
    OF_MEDIAN,
    Family,
    TwoStates,
    blocks_to_decide,
    corrected,
    difference,
    mean_of,
    next_levels,
    two_states,
)
from scaling.base.formats import number, percent
from scaling.study.presets import FEWEST_FOR_INTERVAL, MARGIN

type Place = Literal["outside", "inside", "across"]
type Word = Literal["faster", "slower", "more", "less", "better", "worse", "same", "inconclusive"]
type Reason = Literal[
    "no value",
    "not above 0",
    "too few blocks",
    "too noisy",
    "at the margin",
    "two states",
    "A/A pair differs",
    "bound",
    "void",
]


class Direction(NamedTuple):
    """The words for a ratio below and one above the margin."""

    below: Word
    above: Word


RATE = Direction("slower", "faster")  # of throughput
COST = Direction("less", "more")  # of CPU time and memory
LATENCY = Direction("faster", "slower")


class Margin(NamedTuple):
    """The smallest difference that counts, and why nothing is judged by it, where that is so."""

    share: float
    doubt: str = ""


def wider(margins: Iterable[Margin]) -> Margin:
    """That of several studies together: the widest, with the first doubt about any."""
    every = list(margins)
    doubts = (each.doubt for each in every if each.doubt)
    return Margin(max(each.share for each in every), next(doubts, ""))


@dataclass(frozen=True, slots=True)
class Verdict:
    """One word for a ratio, what it rests on, and `why`: by how much, or why it is `inconclusive`.

    `direction` has the words for both sides of 1: of a latency, `faster` is below.
    `p_differs` is the chance of such a ratio, or one farther off, if it were inside the `margin`
    (twice that of the side on which the median is); `p_same` that of one as near to 1 if it were
    outside. Both are corrected for the other hypotheses of the `family`; NaN where nothing was
    tested. `reason` is why it is inconclusive, for programs; empty where it is not. `blocks` is how
    many would decide it (`blocks_to_decide`): NaN where that is not known, None where it is decided
    or more blocks would not.
    """

    word: Word
    margin: float
    p_differs: float = math.nan
    p_same: float = math.nan
    why: str = ""
    family: Family = "primary"
    direction: Direction = RATE
    reason: Reason | Literal[""] = ""
    blocks: float | None = None

    @property
    def text(self) -> str:
        """`slower, by 9 to 14 %`."""
        return f"{self.word}, {self.why}" if self.why else self.word

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

    def undecided(self, reason: Reason, why: str) -> Self:
        """The same ratio where it proves nothing, with the reason, for programs and in words."""
        changed = replace(
            self.verdict,
            word="inconclusive",
            reason=reason,
            why=why,
            blocks=None,
        )
        return replace(self, verdict=changed)


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

    They are NaN where the ratio cannot be tested. `scatter` and `e` are those of
    `blocks_to_decide`. `states` are the two that it falls apart into, or the runs of a study, if
    they do.
    """

    value: Estimate
    margin: Margin
    p_differs: float
    p_same: float
    direction: Direction = RATE
    family: Family = "primary"
    scatter: float = math.nan
    e: float = OF_MEDIAN
    states: TwoStates | None = None


def hypothesis(
    ratios: Floats,
    margin: Margin | float,
    direction: Direction = RATE,
    family: Family = "primary",
) -> Hypothesis:
    """That ratios of shape (blocks,), paired inside blocks, differ from 1 by more than `margin`.

    Raises:
        ValueError: the margin is not a number of at least 0.
    """
    known = ratios[np.isfinite(ratios)]
    return _hypothesis(median(ratios, RATIO), margin, [known], direction, family)


def unpaired_hypothesis(
    ours: Floats,
    theirs: Floats,
    margin: Margin | float,
    direction: Direction = RATE,
    family: Family = "primary",
) -> Hypothesis:
    """The same of two studies, whose runs are not paired: the tests are Welch's.

    Values that are not finite and positive are left out, as in `estimate.ratio`.

    Raises:
        ValueError: the margin is not a number of at least 0.
    """
    over, under = (side[np.isfinite(side) & (side > 0)] for side in (ours, theirs))
    value = estimate.ratio(over, under)
    return _hypothesis(value, margin, [over, under], direction, family)


def judge(hypotheses: Sequence[Hypothesis]) -> list[RatioVerdict]:
    """The verdicts on all hypotheses of a study, in order, each family corrected by itself."""
    families = [each.family for each in hypotheses]
    differs = corrected([each.p_differs for each in hypotheses], families)
    same = corrected([each.p_same for each in hypotheses], families)
    levels = next_levels(differs, families), next_levels(same, families)
    return [_verdict(*each, *levels) for each in zip(hypotheses, differs, same, strict=True)]


def _verdict(
    tested: Hypothesis,
    p_differs: float,
    p_same: float,
    to_differ: dict[Family, float],
    to_be_same: dict[Family, float],
) -> RatioVerdict:
    """`to_differ` and `to_be_same` are the levels that the next p-value must be below."""
    value, margin = tested.value, tested.margin.share
    where = place(value, margin)
    word: Word = "inconclusive"
    reason, why = _withheld(tested)
    blocks: float | None = None
    if not reason and where == "outside" and p_differs < ERROR_RATE:
        word = tested.direction.above if value.low > 1 else tested.direction.below
        why = _amount(value)
    elif not reason and where == "inside" and p_same < ERROR_RATE:
        word, why = "same", f"within ±{percent(margin)}"
    elif reason in ("", "too few blocks"):
        is_inside = abs(math.log(value.point)) <= math.log1p(margin) if value.point > 0 else False
        level = (to_be_same if is_inside else to_differ)[tested.family]
        needed = blocks_to_decide(tested.scatter, value.point, margin, level, tested.e)
        blocks = max(needed, value.n + 1.0)  # so many did not decide it; NaN stays
        if not reason:
            reason, why = _undecided(tested, where, blocks)
    if reason:
        why = f"{reason}: {why}" if why else reason
    verdict = Verdict(
        word, margin, p_differs, p_same, why, tested.family, tested.direction, reason, blocks
    )
    return RatioVerdict(*astuple(value), verdict=verdict)


def _withheld(tested: Hypothesis) -> tuple[Reason | Literal[""], str]:
    """Why a ratio has no verdict whatever its interval is, for programs and in words."""
    value = tested.value
    if not value.n:
        return "no value", ""
    if value.n < FEWEST_FOR_INTERVAL:
        return "too few blocks", _few(value, tested.margin.share, tested.direction)
    if math.isnan(tested.p_differs):
        return "not above 0", ""
    if tested.margin.doubt:
        return "A/A pair differs", tested.margin.doubt
    if tested.states:
        return "two states", _in_two_states(tested.states)
    return "", ""


def _undecided(tested: Hypothesis, where: Place, blocks: float) -> tuple[Reason, str]:
    """Why an interval decides nothing: all of it is near the margin's end, or it is too wide."""
    value, (margin, _), words = tested.value, tested.margin, tested.direction
    far = (1 + margin) ** 2  # as far from the end of the margin as that is from 1
    is_near = (value.low >= 1 or value.high <= 1) and 1 / far <= value.low <= value.high <= far
    if where == "across" and is_near:
        return "at the margin", _at_the_margin(value, words)
    failed = f"not significant after {CORRECTIONS[tested.family].name} correction (5 %)"
    return "too noisy", _noisy(value, words, blocks, failed if where != "across" else "")


def _hypothesis(
    value: Estimate,
    margin: Margin | float,
    sides: Sequence[Floats],
    direction: Direction,
    family: Family,
) -> Hypothesis:
    """Of the ratios themselves, or of the runs of two studies.

    A ratio can only differ to the side on which its median is. Where some blocks are far to the
    other side, the mean may be there, too, and proves nothing for either. Without a margin nothing
    can be the same: that is not tested, and no member of the family.

    Raises:
        ValueError: the margin is not a number of at least 0.
    """
    margin = margin if isinstance(margin, Margin) else Margin(margin)
    if not margin.share >= 0:
        raise ValueError(f"a margin is a number of at least 0, not {margin.share}")
    fewest = min(map(len, sides))
    if fewest < 2 or any((side <= 0).any() for side in sides):
        return Hypothesis(value, margin, math.nan, math.nan, direction, family)
    logs = [np.log(side) for side in sides]
    scatter = math.sqrt(sum(float(np.var(each, ddof=1)) for each in logs))
    e = OF_MEDIAN if len(logs) == 1 else OF_HODGES_LEHMANN
    if fewest < FEWEST_FOR_INTERVAL:
        return Hypothesis(value, margin, math.nan, math.nan, direction, family, scatter, e)
    means = [mean_of(each) for each in logs]
    mean = means[0] if len(means) == 1 else difference(*means)
    low, high = -math.log1p(margin.share), math.log1p(margin.share)
    differs = mean.p_above(high) if value.point > 1 else mean.p_below(low)
    same = max(mean.p_above(low), mean.p_below(high)) if margin.share else math.nan
    least = math.log1p(margin.share or MARGIN)
    return Hypothesis(
        value,
        margin,
        min(1.0, 2 * differs),
        same,
        direction,
        family,
        scatter,
        e,
        states=next(filter(None, (two_states(each, least) for each in logs)), None),
    )


# ----------------------------------------------------------------------------------------- in words
# A verdict in words, the same in every output. What stands after the word and its comma is `why`:
#
#     slower, by 9 to 14 %
#     faster, 10.3 to 11.8 times
#     same, within ±2 %
#     inconclusive, too few blocks: leaning slower, 0.837; 2 of 6 blocks
#     inconclusive, too noisy: between 6 % slower and 1 % faster; about 30 blocks would decide
#     inconclusive, at the margin: 1 to 4 % slower, about the smallest difference that counts
#
# Of a latency `faster` is below 1, and the share is that by which it is lower.

TIMES = 2.0  # from this factor on a ratio is said in times, below it in per cent
ALMOST_ONE = 0.95  # per cent: rounded to one
MOST_BLOCKS = 1_000  # beyond, nobody waits for a verdict


def _amount(value: Estimate) -> str:
    """By how much a ratio differs from 1: `by 9 to 14 %`, `10.3 to 11.8 times`."""
    if value.point >= TIMES:
        return f"{_ends(number(value.low), number(value.high))} times"
    return f"by {_share_ends(value)}"


def _few(value: Estimate, margin: float, words: tuple[str, str]) -> str:
    """What so few blocks say."""
    side = _side(value.point, margin, words)
    leaning = f"leaning {side}" if side else "no difference so far"
    return f"{leaning}, {number(value.point)}; {value.n} of {FEWEST_FOR_INTERVAL} blocks"


def _noisy(value: Estimate, words: tuple[str, str], blocks: float, corrected: str = "") -> str:
    """Where the ratio may be, and how many blocks would decide it; `corrected` says what failed."""
    found = f"between {_end(value.low, words)} and {_end(value.high, words)}"
    if value.low >= 1 or value.high <= 1:
        found = f"{_share_ends(value)} {words[value.low >= 1]}"
        if value.low >= TIMES:
            found = f"{_ends(number(value.low), number(value.high))} times {words[1]}"
    return f"{found}{f', {corrected}' if corrected else ''}; {_blocks(blocks)}"


def _at_the_margin(value: Estimate, words: tuple[str, str]) -> str:
    """What is known of a ratio that is as large as the margin."""
    return (
        f"{_share_ends(value)} {words[value.point > 1]}, about the smallest difference that counts"
    )


def _in_two_states(found: TwoStates) -> str:
    """How often which came up: ratios, or the figures of the runs of one of two studies."""
    low, high = (number(math.exp(each)) for each in (found.low, found.high))
    return f"{found.of_low} values near {low}, {found.of_high} near {high}"


def _side(ratio: float, margin: float, words: tuple[str, str]) -> str:
    if ratio > 1 + margin:
        return words[1]
    return words[0] if ratio < 1 / (1 + margin) else ""


def _end(bound: float, words: tuple[str, str]) -> str:
    share = _share(bound)
    return f"{share} % {words[bound >= 1]}" if share != "0" else "equal"


def _share_ends(value: Estimate) -> str:
    """`9 to 14 %`: the smaller first."""
    ends = sorted((value.low, value.high), key=lambda bound: abs(bound - 1))
    return f"{_ends(*map(_share, ends))} %"


def _share(bound: float) -> str:
    """By how many per cent it is from 1; below one of them with a decimal."""
    share = 100 * abs(bound - 1)
    return f"{share:,.{0 if share >= ALMOST_ONE else 1}f}".replace("0.0", "0")


def _ends(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def _blocks(blocks: float) -> str:
    if blocks > MOST_BLOCKS:
        return f"more than {MOST_BLOCKS:,} blocks would decide"
    return f"about {blocks:,.0f} blocks would decide"
