"""Tests of a study's hypotheses, and what they take.

Student's and Welch's t tests; how the p-values of a family are corrected; whether values fall apart
into two states, so that no test says anything; how many blocks would decide.
"""

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np

from scaling.analysis.arrays import Flags, Floats
from scaling.study.presets import FEWEST_FOR_INTERVAL

# ------------------------------------------------------------------------------------------- t test
# Student's and Welch's t tests against any value, from a mean and its standard error.
#
# `scipy.stats` has the same tests (`ttest_1samp`, `ttest_ind`); importing it takes longer than
# analysing a study, and `scipy.special` has the distribution.


class Mean(NamedTuple):
    """A mean, or a difference of two, with its standard error and degrees of freedom."""

    value: float
    error: float
    freedom: float

    def p_above(self, bound: float) -> float:
        """The chance of a mean as high as this, or higher, if the true one were `bound`."""
        return self._p(self.value - bound)

    def p_below(self, bound: float) -> float:
        """The chance of a mean as low as this, or lower, if the true one were `bound`."""
        return self._p(bound - self.value)

    def _p(self, excess: float) -> float:
        from scipy.special import stdtr

        if self.error == 0:  # there is no t without a spread
            return float(excess <= 0)
        return float(stdtr(self.freedom, -excess / self.error))


def mean_of(values: Floats) -> Mean:
    """The mean of at least two values, of shape (n,)."""
    error = 0.0 if np.ptp(values) == 0 else float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return Mean(float(np.mean(values)), error, len(values) - 1)


def difference(one: Mean, other: Mean) -> Mean:
    """One mean less another of independent values, whose spreads may differ (B. L. Welch, 1947)."""
    error = math.hypot(one.error, other.error)
    parts = one.error**4 / one.freedom + other.error**4 / other.freedom
    return Mean(one.value - other.value, error, error**4 / parts if parts else math.nan)


# ----------------------------------------------------------------------------------------- families

type Family = Literal["primary", "exploratory"]

ERROR_RATE = 0.05  # of a whole family


class Correction(NamedTuple):
    """How the p-values of a family are corrected for how many there are.

    `adjust` takes them in rising order, shape (n,), and gives each its corrected value.
    `next_level` is what the next one must be below if so many (`decided`) of so many (`tested`) are
    significant.
    """

    name: str
    adjust: Callable[[Floats], Floats]
    next_level: Callable[[int, int], float]


def _holm(rising: Floats) -> Floats:
    return np.maximum.accumulate(rising * np.arange(len(rising), 0, -1))


def _benjamini_hochberg(rising: Floats) -> Floats:
    scaled = rising * len(rising) / np.arange(1, len(rising) + 1)
    return np.minimum.accumulate(scaled[::-1])[::-1]


CORRECTIONS: dict[Family, Correction] = {
    "primary": Correction(
        "Holm", _holm, lambda decided, tested: ERROR_RATE / max(1, tested - decided)
    ),
    "exploratory": Correction(
        "Benjamini–Hochberg",
        _benjamini_hochberg,
        lambda decided, tested: ERROR_RATE * min(1.0, (decided + 1) / max(1, tested)),
    ),
}


def corrected(p_values: Sequence[float], families: Sequence[Family]) -> list[float]:
    """The corrected p-values; a hypothesis that was not tested (NaN) does not count."""
    found, family_of = np.array(p_values, dtype=np.float64), np.array(families)
    for family, correction in CORRECTIONS.items():
        tested = np.flatnonzero(np.isfinite(found) & (family_of == family))
        rising = tested[np.argsort(found[tested])]
        found[rising] = np.minimum(1.0, correction.adjust(found[rising]))
    adjusted: list[float] = found.tolist()
    return adjusted


def next_levels(adjusted: Sequence[float], families: Sequence[Family]) -> dict[Family, float]:
    """What the next p-value of each family must be below, beside those that are decided."""
    found = {}
    for family, correction in CORRECTIONS.items():
        own = [p for p, its in zip(adjusted, families, strict=True) if its == family]
        decided, tested = sum(p < ERROR_RATE for p in own), sum(p == p for p in own)
        found[family] = correction.next_level(decided, tested)
    return found


# --------------------------------------------------------------------------------------- two states
# Whether values fall apart into two groups, as those of processes that are in one of two states.
#
# Addresses, hash seeds or an allocator can put a process into one of two states for its whole life.
# The ratio of two cells is then one of two numbers, and the median over blocks says how often each
# came up rather than how fast a cell is. Such a ratio has no verdict. What is looked at is the
# ratio, not the runs of either cell: where the machine changed half-way, the runs of every cell
# fall apart, and ratios inside blocks do not.
#
# Values fall apart where the gap between two neighbours is many times the standard deviation inside
# either group, each of which has a quarter of the values or more: a few outliers are no state. How
# many times (`GAPS`) was found by simulation: one study in a hundred is above it where there is one
# group, whichever of these it is drawn from is the worst (60,000 studies each): normal, uniform,
# Laplace, Student's t with 2 degrees of freedom, lognormal, exponential, normal with a drift of
# three standard deviations, normal with neighbours that correlate by 0.6. Uniform values and those
# with one long tail are the worst.
#
# By simulation a cell whose processes are in either of two states, 10 standard deviations and 10 %
# apart, each with a chance of one half, is found in 27 % of studies of 6 blocks, 43 % of 8, 93 % of
# 12 and 99 % of 20; every word about such a ratio is half wrong. Words were given in 13, 6, 1.7 and
# 0.3 % of these studies; without the rule in 12, 4, 6 and 6 %. So it needs more than 8 blocks, and
# with fewer there is little that a rule could look at: of the words in 4,000 studies of 8 blocks
# (in 4.6 % of them), nine in ten were given where all blocks, or all but one, came out in the same
# state, and one value far from seven others may be an outlier. Where both cells have the same two
# states, words are rare with and without it (below 2 %).
#
# States that last for many blocks are found in part only: equal cells that keep theirs from block
# to block with a chance of 80 % are called different in 7 % of studies of 20 blocks (14 % without),
# in 18 % of 8. One such state lasts through all of 8 blocks in 21 % of studies, which leaves no
# trace in the order of the runs either; two thirds of the words about such a cell were given there.
# tests/analysis/test_verdicts_keep_their_error_rates.py repeats the first two.

# By the number of values, from six on; that of 20 for more.
FEWEST_VALUES = 6
GAPS = (9.1, 8.0, 7.5, 4.9, 4.6, 4.2, 3.9, 3.4, 3.2, 3.0, 2.8, 2.7, 2.5, 2.4, 2.3)


class TwoStates(NamedTuple):
    """Two groups of values: the median of each, and how many it has."""

    low: float
    of_low: int
    high: float
    of_high: int


def two_states(values: Floats, least: float) -> TwoStates | None:
    """The two groups that values of shape (n,) fall into, at least so far apart; None for one."""
    n, ordered = len(values), np.sort(values)
    if n < FEWEST_VALUES or np.diff(ordered).max() <= least:
        return None  # soon known of most
    apart = splits(values, least)
    if not apart.any():
        return None
    size = _fewest(n) + int(np.argmax(apart))
    low, high = ordered[:size], ordered[size:]
    return TwoStates(float(np.median(low)), size, float(np.median(high)), n - size)


def splits(values: Floats, least: float) -> Flags:
    """Where values of shape (…, n) fall apart: a flag for each size of the lower group, from the
    least to the greatest that it can have.
    """
    n = values.shape[-1]
    if n < FEWEST_VALUES:
        return np.zeros(0, np.bool_)
    sizes = np.arange(_fewest(n), n - _fewest(n) + 1)
    ordered = np.sort(values - values.mean(axis=-1, keepdims=True), axis=-1)
    gaps = np.diff(ordered, axis=-1)[..., sizes - 1]
    lower = _variances(ordered, sizes)
    upper = _variances(-ordered[..., ::-1], n - sizes)
    times = GAPS[min(n - FEWEST_VALUES, len(GAPS) - 1)]
    found: Flags = (gaps > least) & (gaps > times * np.sqrt(np.maximum(lower, upper)))
    return found


def _fewest(n: int) -> int:
    """The least size of a group."""
    return -(-n // 4)


def _variances(ordered: Floats, sizes: np.ndarray[tuple[int], np.dtype[np.int_]]) -> Floats:
    """Of the first values, so many each time."""
    sums, squares = np.cumsum(ordered, axis=-1), np.cumsum(ordered**2, axis=-1)
    within = squares[..., sizes - 1] - sums[..., sizes - 1] ** 2 / sizes
    found: Floats = np.maximum(within, 0.0) / (sizes - 1)
    return found


# --------------------------------------------------------------------------- blocks until a verdict
# How many blocks a study needs until a ratio that is inconclusive has a verdict.
#
# The logarithm of a ratio scatters by s from block to block; of two studies, whose runs are not
# paired, s² is the sum of both variances. A verdict needs two things: the t test at the level a of
# its family, and the 95 % interval. With n blocks the mean has the variance s² / n, and what the
# interval is around e s² / n: e is π / 2 for the median and π / 3 for the Hodges-Lehmann estimate
# (E. L. Lehmann, Nonparametrics: Statistical Methods Based on Ranks (1975), 2.4, for normal
# values). If the ratio is what was measured, at a distance d from the margin, each of the two finds
# it with the probability `POWER` from this n on, with e = 1 for the test and a = 5 % for the
# interval:
#
# n = (z(1 - a/2) + z(POWER))² e s² / d² + z(1 - a/2)² / 4
#
# The last term is for few blocks (W. C. Guenther, The American Statistician 35 (1981), 243). Within
# the margin both sides have to be excluded, and each gets half of the chance to miss, which is more
# than enough where the ratio is not in the middle. Scatter that is known from a few blocks makes
# this a rough figure.

POWER = 0.8
OF_MEDIAN, OF_HODGES_LEHMANN = math.pi / 2, math.pi / 3


def blocks_to_decide(
    scatter: float, ratio: float, margin: float, level: float = ERROR_RATE, e: float = OF_MEDIAN
) -> float:
    """The blocks of a study (of each of two), at least six; `scatter` is s, `e` as above.

    Infinite for a ratio at the margin, which no number of blocks decides. NaN where the scatter is
    not known.
    """
    if math.isnan(scatter) or not ratio > 0:
        return math.nan
    at, edge = abs(math.log(ratio)), math.log1p(margin)
    distance = abs(at - edge)
    if not distance:
        return math.inf
    found = (1 + POWER) / 2 if at <= edge else POWER
    needed = (
        _blocks(part * scatter**2 / distance**2, 1 - alpha / 2, found)
        for part, alpha in ((1.0, level), (e, ERROR_RATE))
    )
    return max(FEWEST_FOR_INTERVAL, math.ceil(max(needed)))


def _blocks(variance: float, sure: float, found: float) -> float:
    z, z_found = map(NormalDist().inv_cdf, (sure, found))
    return variance * (z + z_found) ** 2 + z**2 / 4
