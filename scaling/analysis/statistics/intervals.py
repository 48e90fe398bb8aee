"""Medians, means and the ends of their intervals, for all columns of an array at once.

An array has shape (blocks, columns): a column is one cell, or one pair of cells; NaN is no value.

Runs are few, so nothing is assumed of their distribution except that it has no gaps. From six
values on, the interval for the median is that of Hettmansperger and Sheather (Statistics &
Probability Letters 4 (1986), 75–79). It interpolates between two intervals whose ends are order
statistics: the narrowest that covers at least 95 % and the next narrower one. Below six values no
95 % interval of this kind exists; the range is given instead.

It was chosen by simulation as the narrowest that covers: the share of intervals that held the true
median, in %, and their width over that of order statistics, lowest to highest over six kinds of
figures: normal, lognormal, exponential, Student's t with 2 degrees of freedom, Laplace, and ratios
paired inside blocks that differ by 30 % (40,000 studies for the first two rows, 1,500 for others):

                                           8 blocks                 20 blocks
    order statistics, no interpolation     99.2         1           95.8–96.0   1
    interpolated (in use)                  94.4–94.9    0.51–0.62   94.9–95.2   0.94
    bootstrap, percentile                  91.6–93.2    0.46–0.59   92.7–94.3   0.88–0.89
    bootstrap, BCa                         91.1–93.1    0.45–0.57   93.1–94.4   0.88–0.89
    bootstrap, studentised                 89.5–93.1    0.51–0.66   88.0–91.6   0.88–1.01

From ten values on, the interval of a ratio's logarithm is that of Hodges and Lehmann: signed ranks
of the means of all pairs (M. Hollander, D. A. Wolfe, E. Chicken, Nonparametric Statistical Methods,
3rd ed. (2014), 3.2 and 3.3). It is 9 to 15 % narrower at 20 values, and needs values that are
symmetric, as logarithms of ratios are and figures of single cells are not.

tests/analysis/test_intervals_cover.py repeats the simulation.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from scaling.analysis.arrays import Flags, Floats, Integers
from scaling.analysis.statistics.hypotheses import splits
from scaling.study.presets import FEWEST_FOR_INTERVAL

COVERAGE = 0.95
FEWEST_FOR_RANKS = 10
PAIRS_AT_ONCE = 1 << 16  # of which all means fit into a CPU's cache


class Estimates(NamedTuple):
    """Arrays of shape (columns,): point, 95 % interval (the range below six values), and the number
    of values. All but `n` are NaN where a column has no value.
    """

    point: Floats
    low: Floats
    high: Floats
    n: Integers


def medians(table: Floats) -> Estimates:
    """The median of each column of a table of shape (blocks, columns)."""
    found = _blank(table)
    for places, ordered in _alike(table):
        few = len(ordered) < FEWEST_FOR_INTERVAL
        found.point[places] = _middle(ordered)
        found.low[places] = ordered[0] if few else order_statistic(ordered, COVERAGE)
        found.high[places] = ordered[-1] if few else -order_statistic(-ordered[::-1], COVERAGE)
    return found


def means(table: Floats) -> Estimates:
    """The mean of each column, for figures that have to add up: medians of parts do not sum to the
    median of the whole. The interval is Student's.
    """
    from scipy.special import stdtrit  # scipy.stats takes longer to import than a plan to make

    found = _blank(table)
    for places, ordered in _alike(table):
        n, point = len(ordered), ordered.mean(axis=0)
        low, high = ordered[0], ordered[-1]
        if n >= FEWEST_FOR_INTERVAL:
            half = stdtrit(n - 1, (1 + COVERAGE) / 2) * ordered.std(axis=0, ddof=1) / np.sqrt(n)
            low, high = point - half, point + half
        found.point[places], found.low[places], found.high[places] = point, low, high
    return found


def geometric_means(table: Floats) -> Estimates:
    """The geometric mean of each column, for factors: these multiply as factors do."""
    with np.errstate(divide="ignore", invalid="ignore"):
        point, low, high, n = means(np.log(table))
    return Estimates(np.exp(point), np.exp(low), np.exp(high), n)


def both_ends(table: Floats, levels: Sequence[float]) -> tuple[Floats, Floats]:
    """The lower and the upper ends of the interval of each column's median, at several levels:
    shape (levels, columns) each, infinite where a column has too few values for an interval.
    """
    low = np.full((len(levels), table.shape[1]), -np.inf)
    high = -low
    for places, ordered in _alike(table):
        if len(ordered) >= FEWEST_FOR_RANKS:
            low[:, places], high[:, places] = signed_ranks(ordered, levels)
        elif len(ordered) >= FEWEST_FOR_INTERVAL:
            low[:, places] = [order_statistic(ordered, each) for each in levels]
            high[:, places] = [-order_statistic(-ordered[::-1], each) for each in levels]
    return low, high


def in_two_states(table: Floats, least: float) -> Flags:
    """Flags of the columns whose values fall into two groups at least `least` apart
    (`scaling.analysis.statistics.hypotheses.splits`).
    """
    found = np.zeros(table.shape[1], np.bool_)
    for places, ordered in _alike(table):
        found[places] = splits(ordered, least)
    return found


def scatter(table: Floats) -> Floats:
    """The standard deviation of each column, shape (columns,); NaN below two values."""
    found = np.full(table.shape[1], np.nan)
    for places, ordered in _alike(table):
        if len(ordered) > 1:
            found[places] = ordered.std(axis=0, ddof=1)
    return found


# -------------------------------------------------------------------------------------------- ends


def order_statistic(ordered: Floats, level: float) -> Floats:
    """The lower end by interpolated order statistics, of columns whose values ascend."""
    place = _rank(len(ordered), level)
    if place is None:
        return np.full(ordered.shape[1], -np.inf)
    rank, inwards = place
    outer, inner = ordered[rank - 1], ordered[rank]
    # Clipped, because rounding can move it outside.
    return np.asarray(np.clip((1 - inwards) * outer + inwards * inner, outer, inner))


def signed_ranks(ordered: Floats, levels: Sequence[float]) -> tuple[Floats, Floats]:
    """The lower and upper ends by signed ranks: some of the ascending means of all pairs of
    values, counted from either end.
    """
    one, other = np.triu_indices(len(ordered))
    places = [_signed_rank(len(ordered), level) for level in levels]
    places += [len(one) - 1 - place for place in places]
    found = np.empty((len(places), ordered.shape[1]))
    halves = np.ascontiguousarray(ordered.T) / 2
    at_once = max(1, PAIRS_AT_ONCE // len(one))
    for at in range(0, len(halves), at_once):
        some = halves[at : at + at_once]
        means_of_pairs = np.take(some, one, axis=1)
        means_of_pairs += np.take(some, other, axis=1)
        means_of_pairs.partition(places)
        found[:, at : at + at_once] = means_of_pairs[:, places].T
    return found[: len(levels)], found[len(levels) :]


@cache
def _rank(n: int, level: float) -> tuple[int, float] | None:
    """The rank of the lower end among n values, and the fraction of the way to the next one.

    The number of values below the median is binomial (n, 1/2), so the k-th smallest and the k-th
    largest cover with probability 1 - 2 P(B < k); k is the largest for which that is the level or
    more. Between two ranks coverage falls in nearly the same way for every symmetric distribution;
    the fraction is where it reaches the level. None where even the range covers less.
    """
    from scipy.special import bdtr

    def covers(rank: int) -> float:
        return float(1 - 2 * bdtr(rank - 1, n, 0.5))

    possible = [rank for rank in range(1, n // 2 + 1) if covers(rank) >= level]
    if not possible:
        return None
    rank = possible[-1]
    share = (covers(rank) - level) / (covers(rank) - covers(rank + 1))
    return rank, (n - rank) * share / (rank + (n - 2 * rank) * share)


@cache
def _signed_rank(n: int, level: float) -> int:
    """The place of the lower end among the ascending n(n+1)/2 means: 0 is the smallest.

    It is the largest k with P(W ≤ k) ≤ (1 - level) / 2 for Wilcoxon's W of n values.
    """
    ways = np.ones(1)  # in which the ranks 1 … i have each sum
    for rank in range(1, n + 1):
        ways = np.concatenate([ways, np.zeros(rank)]) + np.concatenate([np.zeros(rank), ways])
    below = np.cumsum(ways) / ways.sum()  # P(W ≤ k)
    return max(0, int(np.searchsorted(below, (1 - level) / 2, side="right")) - 1)


def _blank(table: Floats) -> Estimates:
    point, low, high = np.full((3, table.shape[1]), np.nan)
    return Estimates(point, low, high, np.isfinite(table).sum(axis=0))


def _middle(ordered: Floats) -> Floats:
    """The median of each column; values are halved before they are added, so no sum overflows."""
    n = len(ordered)
    below, above = ordered[(n - 1) // 2], ordered[n // 2]
    # Clipped, because the smallest numbers cannot be halved.
    return np.asarray(np.clip(below / 2 + above / 2, below, above))


def _alike(table: Floats) -> Iterator[tuple[Integers, Floats]]:
    """Columns with equally many values: their places, and their values in ascending order."""
    known = np.isfinite(table)
    counts = known.sum(axis=0)
    ordered = np.sort(np.where(known, table, np.inf), axis=0)
    for n in np.unique(counts[counts > 0]).tolist():
        places = np.flatnonzero(counts == n)
        yield places, ordered[:n, places]


# ---------------------------------------------------------------------------------------- unpaired
# The ratio of two studies' medians, whose runs were not made side by side.
#
# No run of yesterday pairs with one of today, so every run of the one is compared with every run
# of the other. The median of those differences of logarithms is Hodges' and Lehmann's estimate; its
# interval is the inverse of the rank-sum test (Hollander, Wolfe, Chicken, 4.2 and 4.3) and holds if
# the two differ by a factor only. It knows nothing of what changed on the machine in between.


def differences(ours: Floats, theirs: Floats) -> Floats:
    """All differences of a value of `ours` and one of `theirs`, ascending; finite values alone."""
    known = [side[np.isfinite(side)] for side in (ours, theirs)]
    return np.sort(np.subtract.outer(*known).ravel())


def unpaired(ours: Floats, theirs: Floats, level: float) -> tuple[float, float]:
    """The interval of the difference of two medians; the range below six values on a side."""
    counts = [int(np.isfinite(side).sum()) for side in (ours, theirs)]
    place = _rank_sum(*counts, level) if min(counts) >= FEWEST_FOR_INTERVAL else 0
    every = differences(ours, theirs)
    return float(every[place]), float(every[-1 - place])


@cache
def _rank_sum(ours: int, theirs: int, level: float) -> int:
    """The place of the lower end among the ascending differences: 0 is the smallest.

    It is the largest k with P(U < k) ≤ (1 - level) / 2 for Mann and Whitney's U: its distribution
    are the coefficients of the Gaussian binomial, the product of (1 - q^(theirs + i)) over
    (1 - q^i), i = 1 … ours, multiplied and divided term by term.
    """
    orders = [1] + [0] * (ours * theirs)
    for i in range(1, ours + 1):
        for power in range(len(orders) - 1, theirs + i - 1, -1):
            orders[power] -= orders[power - theirs - i]
        for power in range(i, len(orders)):
            orders[power] += orders[power - i]
    below = np.cumsum(np.array(orders, np.float64)) / float(sum(orders))  # P(U ≤ k)
    return int(np.searchsorted(below, (1 - level) / 2, side="right")) - 1
