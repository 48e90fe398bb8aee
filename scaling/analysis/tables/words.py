"""The word for a ratio: the strongest statement that its interval proves, and its bound.

A figure of a cell is compared with that candidate whose median is best. With x the logarithm of
their ratio in each block, turned so that more is better, a word rests on the ends of the interval
of the median of x: the first of `RULES` that holds gives the word.

An interval of 90 % has 5 % beyond its lower end, so the bound is wrong in at most one of twenty
studies, whatever the word is. To choose the best of several candidates on the same data makes the
lower end careful and the upper end hasty: `high_sure` is therefore that of 97.5 % where there are
several candidates and eight blocks or more, else of 95 %. The margin and the tiers are 2, 5 and
10 %; 10, 25 and 50 % for latencies.

Simulated with normal values and Student's t with 3 degrees of freedom, 6 to 20 blocks, one to four
candidates: the bound fails in 0.6 to 5.7 % of studies. "Slower" at 95 % is wrong in up to 7.5 %
with four equal candidates and the truth on the margin, at 97.5 % in 3.6 %.
tests/analysis/test_words_keep_their_error_rates.py repeats it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from scaling.analysis.arrays import Flags, Floats
from scaling.analysis.statistics.hypotheses import discoveries, p_above
from scaling.analysis.statistics.intervals import FEWEST_FOR_RANKS
from scaling.analysis.table.columns import MEASURES
from scaling.analysis.table.latency import LATENCY_PREFIX
from scaling.base.formats import number
from scaling.study.presets import FEWEST_FOR_INTERVAL, MARGIN
from scaling.study.questions import CAPACITY

SAME, OPEN = "same", "open"
NO_WORD = ""  # of a gain, and where `why` says why not
FARTHEST = 1e6  # of a logarithm: stands for a value, or an end, that is not known
BEYOND = 50.0  # of a logarithm: no measured ratio is as far


class Rule(NamedTuple):
    """A word, its side (1 better, -1 worse), what is said, and what the interval has to show.

    The end `low` of the interval is above one border, the end `high` below another. `word` and
    `said` are templates (`Scale.named`, `said`).
    """

    word: str
    side: int
    said: str
    low: str = "low_90"
    above: int = -4
    high: str = "high_90"
    below: int = 4


OF_MARGIN, INNER, OUTER = 1, 2, 3  # borders: the margin and the tiers; 0 is 0, 4 has nothing beyond
SURE, BETTER = "high_sure", "low_95"
RULES = (
    Rule("{worse}", -1, "{amount}", high=SURE, below=-OF_MARGIN),
    Rule("{better}", 1, "{amount}", BETTER, OF_MARGIN),
    Rule(SAME, 0, "same, within {margin:g} %", above=-OF_MARGIN, below=OF_MARGIN),
    Rule("slightly {worse}", -1, "{worse}, by at most {loss}", "low_90", -INNER, SURE, 0),
    Rule("{worse}, size open", -1, "{worse}, by at most {loss}", high=SURE, below=0),
    Rule("slightly {better}", 1, "{better}, by at most {gain}", BETTER, 0, "high_90", INNER),
    Rule("{better}, size open", 1, "{better}, by at most {gain}", BETTER, 0),
    Rule("not {worse}", 0, "not {worse}", above=0),
    Rule("at most slightly {worse}", 0, "at most {loss} {worse}, if at all", above=-INNER),
    Rule("at most moderately {worse}", 0, "at most {loss} {worse}, if at all", above=-OUTER),
    Rule(OPEN, 0, "open: between {lowest} and {highest}"),
)


@dataclass(frozen=True)
class Scale:
    """The words for a ratio of a measure, and its tiers.

    `sign` is 1 where more is better, else -1. `much` completes "twice as …". `tiers` are the
    margin, the inner and the outer tier, as shares.
    """

    better: str
    worse: str
    much: str
    sign: int
    tiers: tuple[float, float, float] = (MARGIN, 0.05, 0.10)

    def named(self, rule: Rule) -> str:
        """The word of a rule."""
        return rule.word.format(better=self.better, worse=self.worse)

    @property
    def words(self) -> tuple[str, ...]:
        """All words, in the order of the rules."""
        return tuple(map(self.named, RULES))

    def border(self, place: int) -> float:
        """A border of the rules, as a logarithm."""
        return math.copysign(math.log1p((0.0, *self.tiers, math.inf)[abs(place)]), place)


RATE = Scale("faster", "slower", "fast", 1)
COST = Scale("less", "more", "much", -1)
LATENCY = Scale("shorter", "longer", "long", -1, (0.10, 0.25, 0.50))
SCALES = (RATE, COST, LATENCY)
BY_WORD = {scale.named(rule): rule for scale in SCALES for rule in RULES}


def scale_of(measure: str, margin: float = MARGIN) -> Scale:
    """The scale of a measure's ratios; `margin` is the study's own, for all but latencies. No tier
    is below it.
    """
    if measure.startswith(LATENCY_PREFIX):
        return LATENCY
    column = MEASURES.get(measure)
    is_rate = measure.startswith(CAPACITY.format("")) or (column and column.better == "more")
    scale = RATE if is_rate else COST
    _, inner, outer = scale.tiers
    return replace(scale, tiers=(margin, max(margin, inner), max(margin, outer)))


def known_ends(ends: Floats) -> Floats:
    """The ends with `FARTHEST` in place of each that is interpolated between it and a value."""
    return np.where(np.abs(ends) < BEYOND, ends, np.sign(ends) * FARTHEST)


def side_of(word: str) -> int:
    """1 for a word that says better, -1 for one that says worse, else 0."""
    return BY_WORD[word].side if word in BY_WORD else 0


def is_proven(word: str) -> bool:
    """Return True if a word says a difference of more than the margin."""
    return word in BY_WORD and BY_WORD[word].said == "{amount}"


def words(ends: pd.DataFrame, scale: Scale) -> "pd.Series[str]":
    """The word of each row by the ends of its interval, as logarithms turned so that more is
    better: `low_90`, `low_95`, `high_90`, `high_sure`. None is infinite (`FARTHEST`).
    """
    holds = [
        (ends[each.low] > scale.border(each.above)) & (ends[each.high] < scale.border(each.below))
        for each in RULES
    ]
    found = np.select(holds, scale.words, OPEN)
    return pd.Series(found, index=ends.index, dtype=object)


def p_of_differences(
    words: "pd.Series[str]", low: Floats, high: Floats, several: Flags, scale: Scale
) -> Floats:
    """The two-sided p-value of the difference that each word says; 1 where it says none, NaN where
    there is no word.

    `low` and `high` are the logarithms that the ends are of, shape (blocks, ratios). Where `worse`
    is `sure` because of several candidates, it is twice as much.
    """
    side = words.map(side_of).to_numpy(np.int64)
    border = np.where(words.map(is_proven), np.log1p(scale.tiers[0]), 0.0)
    worse = p_above(-high, border) * np.where(several, 2, 1)
    one_sided = np.select([side > 0, side < 0], [p_above(low, border), worse], 0.5)
    return np.where(words == NO_WORD, np.nan, np.minimum(1.0, 2 * one_sided))


def as_counted(found: pd.DataFrame) -> "pd.Series[str]":
    """The words by which a sentence counts many ratios (`slower in 31 of 92`).

    `found` has `word` and `p`. Of the differences beyond the margin that are counted, and of all
    differences, at most 5 % are expected to be wrong; the others count as open.
    """
    tested = found[found["p"].notna()]
    proven, differ = tested["word"].map(is_proven), tested["word"].map(side_of) != 0
    kept = [discoveries(tested["p"].where(some, 1.0).to_numpy()) for some in (proven, differ)]
    is_beyond = differ & ~np.where(proven, *kept)
    word = found["word"].where(found["word"] != NO_WORD, "no word")
    return word.where(~found.index.isin(tested.index[is_beyond]), OPEN)


def at_most_percent(low: Floats, scale: Scale) -> Floats:
    """The most by which a ratio can be worse, in per cent; negative where it is better by at least
    that, NaN without a bound. `low` is the lower end of 90 % as in `words`.
    """
    known = np.where(low > -FARTHEST, low, np.nan)
    return 100 * (1 - np.exp(known)) if scale.sign > 0 else 100 * (np.exp(-known) - 1)


# ------------------------------------------------------------------------------- blocks to decide
# The number of blocks that a study needs until an open ratio has a word.
#
# The logarithm of a ratio scatters by s from block to block. With n blocks the end of its interval
# is z s √(e/n) from the median: e is π / 2 for the median and π / 3 for the Hodges-Lehmann estimate
# (E. L. Lehmann, Nonparametrics: Statistical Methods Based on Ranks (1975), 2.4, for normal
# values). If the ratio is what was measured, the least demanding word holds where that end lies
# beyond the nearer of two borders: 0 for "worse", the outer tier for "at most". It is found in 80 %
# of studies from
#
#     n = (z + z(80 %))² e s² / d²
#
# blocks on, with d the distance to the border. Scatter that is known from a few blocks makes this
# a rough figure.

OF_MEDIAN, OF_HODGES_LEHMANN = math.pi / 2, math.pi / 3  # e
MOST_BLOCKS = 100  # nobody waits for so many
POWER_Z, Z_90, Z_95 = 0.8416, 1.6449, 1.9600


def blocks_to_decide(middle: Floats, scatter: Floats, scale: Scale) -> Floats:
    """The number of blocks that would decide, by median and standard deviation of the logarithms,
    arrays of one shape; NaN where that is not known, or `MOST_BLOCKS` and more.
    """
    outer = np.log1p(scale.tiers[2])
    with np.errstate(divide="ignore", invalid="ignore"):
        to_worse = np.where(middle < 0, (Z_95 + POWER_Z) / -middle, np.inf)
        to_bound = np.where(middle > -outer, (Z_90 + POWER_Z) / (middle + outer), np.inf)
        squared = (np.minimum(to_worse, to_bound) * scatter) ** 2
        few = np.maximum(squared * OF_MEDIAN, FEWEST_FOR_INTERVAL)
        many = np.maximum(squared * OF_HODGES_LEHMANN, FEWEST_FOR_RANKS)
        needed = np.ceil(np.minimum(few, many))
    return np.where(needed < MOST_BLOCKS, needed, np.nan)


# ------------------------------------------------------------------------------------------ said

TIMES = 2.0  # from this factor on a ratio is said in times, below it in per cent


def said(row: Mapping[Any, Any], scale: Scale) -> str:
    """The word with its figures: `9 to 14 % slower`, `at most 3.1 % slower, if at all`.

    `row` has `word`, `why` and the ends of the intervals as in `words`. It is empty for a ratio
    without a word and without a reason: a gain.
    """
    word = str(row["word"])
    if word == NO_WORD:
        return f"no word, {row['why']}" if row["why"] else ""
    if word == OPEN and row["low_90"] * row["high_90"] > 0:
        return f"open: {_amount(row['low_90'], row['high_90'], scale)}, not proven"
    return BY_WORD[word].said.format(
        better=scale.better,
        worse=scale.worse,
        margin=100 * scale.tiers[0],
        amount=_amount(row["low_95"], row["high_95"], scale),
        loss=_percent(row["low_90"], scale),
        gain=_percent(row["high_90"], scale),
        lowest=_end(row["low_90"], scale),
        highest=_end(row["high_90"], scale),
    )


def _amount(low: float, high: float, scale: Scale) -> str:
    """`9 to 14 % slower`, `2.7 to 3.2 times as fast`, `at least 40 % longer`."""
    if max(abs(low), abs(high)) >= FARTHEST:
        return f"at least {_end(min(low, high, key=abs), scale)}"
    ends = sorted(math.exp(scale.sign * end) for end in (low, high))
    if ends[0] >= TIMES or (ends[0] > 1 and ends[1] >= 2 * TIMES):
        return f"{_to(*map(number, ends))} times as {scale.much}"
    shares = sorted(100 * abs(end - 1) for end in ends)
    word = scale.better if low > 0 else scale.worse
    return f"{_to(*(f'{share:,.0f}' for share in shares))} % {word}"


def _to(one: str, other: str) -> str:
    return one if one == other else f"{one} to {other}"


def _percent(end: float, scale: Scale) -> str:
    """An end as a difference of so many per cent, rounded up: it is said to be the most."""
    if abs(end) >= FARTHEST:
        return "an unknown amount"
    share = 100 * abs(math.expm1(scale.sign * end))
    return f"{math.ceil(share * 10 - 1e-9) / 10:,.1f} %"


def _end(end: float, scale: Scale) -> str:
    """`12 % slower`."""
    word = scale.better if end > 0 else scale.worse
    if abs(end) >= FARTHEST:
        return f"any amount {word}"
    factor = math.exp(scale.sign * end)
    if factor >= TIMES:
        return f"{number(factor)} times as {scale.much}"
    return f"{100 * abs(factor - 1):,.0f} % {word}"
