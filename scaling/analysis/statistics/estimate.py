"""One type for every figure that is printed or drawn: a point, its interval, and the method.

Runs are few, so nothing is assumed of their distribution except that it has no gaps. From six
values on, the interval for the median is that of Hettmansperger and Sheather (Statistics &
Probability Letters 4 (1986), 75–79). It interpolates between two intervals whose ends are order
statistics: the narrowest that covers at least 95 % and the next narrower one. Below six values no
95 % interval of this kind exists; the range is given instead, and called a range.

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

tests/analysis/test_estimate_covers.py repeats the simulation.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.base.formats import number, span
from scaling.study.presets import FEWEST_FOR_INTERVAL

COVERAGE = 0.95
RATIO = "×"  # the unit of ratios
RANGE, INTERVAL = "median and range", "median, interpolated order statistics (Hettmansperger)"
NORMAL = 1.4826  # a normal distribution's standard deviation over its median absolute deviation


@dataclass(frozen=True, slots=True)
class Estimate:
    """A median (or mean, see `method`) with its interval or range, and the values' spread.

    `low` and `high` are NaN where there is nothing to estimate (n = 0). `coverage` is the share of
    such intervals that hold the true median, None for a range. `spread` is in the estimate's unit:
    1.4826 times the median absolute deviation, which of normal values is the standard deviation of
    one of them and ignores outliers; NaN below two values. It does not shrink with n.
    """

    point: float
    low: float
    high: float
    unit: str
    n: int
    method: str
    coverage: float | None = None
    spread: float = math.nan

    @property
    def bounds(self) -> str:
        """The range or interval, `64,100–66,000`; empty where there is none to show."""
        if self.n < 2 or self.low == self.high:
            return ""
        return span(number(self.low), number(self.high))

    def __str__(self) -> str:
        """Median with its range or interval: `65,300 (64,100–66,000)`."""
        return f"{number(self.point)} ({self.bounds})" if self.bounds else number(self.point)

    def scaled(self, factor: float, unit: str) -> "Estimate":
        """The same estimate in another unit; `factor` is positive."""
        return Estimate(
            self.point * factor,
            self.low * factor,
            self.high * factor,
            unit,
            self.n,
            self.method,
            self.coverage,
            self.spread * factor,
        )


NO_VALUE = Estimate(math.nan, math.nan, math.nan, "", 0, "no value")


def bounds_kind(values: Iterable[Estimate]) -> str:
    """What the bounds beside some medians are: `range of 3 runs`, `95 % interval over 8 blocks`."""
    several = [value for value in values if value.n > 1]
    ranges = sorted({value.n for value in several if value.coverage is None})
    intervals = sorted({value.n for value in several if value.coverage is not None})
    kinds = []
    if intervals:
        kinds.append(f"95 % interval over {_either(intervals)} blocks")
    if ranges:
        kinds.append(f"range of {_either(ranges)} runs")
    return " or ".join(kinds)


def _either(counts: list[int]) -> str:
    *others, last = map(str, counts)
    return f"{', '.join(others)} or {last}" if others else last


def median(values: Iterable[float], unit: str) -> Estimate:
    """The median of one value per block, with its interval, or range below six values.

    Values that are not finite are left out.
    """
    column = np.fromiter(values, dtype=np.float64)
    (found,) = medians(column[:, np.newaxis], unit)
    return found


def medians(table: Floats, units: str | Sequence[str]) -> list[Estimate]:
    """`median` of each column of a table of shape (blocks, columns), all of them at once.

    `units` has a unit for each column, or is one unit for all. A journal of many runs has tens of
    thousands of figures. Values that are not finite are left out.
    """
    unit_of = [units] * table.shape[1] if isinstance(units, str) else units
    known = np.isfinite(table)
    counts = known.sum(axis=0)
    found = [Estimate(math.nan, math.nan, math.nan, unit, 0, "no value") for unit in unit_of]
    for n in sorted(set(counts[counts > 0].tolist())):
        alike = np.flatnonzero(counts == n)
        # Values that are left out come last.
        values = np.sort(np.where(known[:, alike], table[:, alike], np.inf), axis=0)[:n]
        point = _middle(values)
        low, high = _bounds(values)
        few = n < FEWEST_FOR_INTERVAL
        method, coverage = (RANGE, None) if few else (INTERVAL, COVERAGE)
        rows = np.column_stack((point, low, high, _spread(values, point))).tolist()
        for column, (middle, least, most, spread) in zip(alike.tolist(), rows, strict=True):
            unit = unit_of[column]
            found[column] = Estimate(middle, least, most, unit, n, method, coverage, spread)
    return found


def _middle(ordered: Floats) -> Floats:
    """The median of each column; values are halved before they are added, so no sum overflows."""
    n = len(ordered)
    below, above = ordered[(n - 1) // 2], ordered[n // 2]
    return _within(below / 2 + above / 2, below, above)  # the smallest cannot be halved


def _within(values: Floats, least: Floats, most: Floats) -> Floats:
    """`np.clip`, in a third of the time where there are few values."""
    within: Floats = np.minimum(np.maximum(values, least), most)
    return within


def _bounds(ordered: Floats) -> tuple[Floats, Floats]:
    """The lower and upper bound of each column: the range below six values, else the interval.

    Each bound is clipped to the two values that it is interpolated between, because rounding can
    move it outside.
    """
    n = len(ordered)
    if n < FEWEST_FOR_INTERVAL:
        return ordered[0], ordered[-1]
    rank, inwards = _place(n)

    def between(outer: Floats, inner: Floats) -> Floats:
        place: Floats = (1 - inwards) * outer + inwards * inner
        return _within(place, np.minimum(outer, inner), np.maximum(outer, inner))

    return between(ordered[rank - 1], ordered[rank]), between(ordered[-rank], ordered[-rank - 1])


def _spread(ordered: Floats, point: Floats) -> Floats:
    """The scaled median absolute deviation of each column."""
    if len(ordered) < 2:
        return np.full(len(point), np.nan)
    with np.errstate(over="ignore"):  # only values too large for a measurement overflow
        return NORMAL * _middle(np.sort(np.abs(ordered - point), axis=0))


@cache
def _place(n: int) -> tuple[int, float]:
    """Where the lower bound is: the rank k of a value, and the fraction of the way to the next one.

    The number of values below the median is binomial (n, 1/2), so the k-th smallest and the k-th
    largest cover with probability 1 - 2 P(B < k); k is the largest for which that is 95 % or more.
    Between two ranks coverage falls in nearly the same way for every symmetric distribution; the
    fraction returned is where it reaches 95 %.
    """
    from scipy.special import bdtr  # scipy.stats takes longer to import than a plan to make

    def covers(rank: int) -> float:
        return float(1 - 2 * bdtr(rank - 1, n, 0.5))

    rank = max(k for k in range(1, n // 2 + 1) if covers(k) >= COVERAGE)
    beyond = covers(rank) - COVERAGE
    share = beyond / (covers(rank) - covers(rank + 1))
    return rank, (n - rank) * share / (rank + (n - 2 * rank) * share)


# --------------------------------------------------------------------------------------------- mean
# Means with intervals, for figures that have to add up: medians of parts do not sum to the whole.
#
# The interval is Student's. Below six values there is a range instead, as with medians: Student's
# interval of two factors that differ by a third reaches from 0.09 to 7.5, which says nothing.

SINGLE, MEAN_RANGE = "single value", "mean and range"
MEAN, GEOMETRIC = "mean, Student's t", "geometric mean, Student's t"


def means(table: Floats, unit: str) -> list[Estimate]:
    """The mean of each column of a table of finite values, shape (blocks, columns).

    Each has its 95 % interval, or its range below six blocks; of a single block there is neither.
    """
    return _estimates(_moments(table), unit, len(table), MEAN)


def geometric_means(logarithms: Floats) -> list[Estimate]:
    """The geometric means of factors, from a table of their logarithms: these multiply as factors
    do. The spread is that of the logarithms.
    """
    *ends, spreads = _moments(logarithms)
    return _estimates((*map(np.exp, ends), spreads), RATIO, len(logarithms), GEOMETRIC)


def _moments(table: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Of each column the mean, its bounds, and the standard deviation of one value."""
    n = len(table)
    points = table.mean(axis=0)
    spreads = np.full_like(points, np.nan)
    if n > 1:
        spreads = table.std(axis=0, ddof=1)
        spreads[np.ptp(table, axis=0) == 0] = 0.0  # not rounding error
    if n < FEWEST_FOR_INTERVAL:
        return points, table.min(axis=0), table.max(axis=0), spreads
    from scipy.special import stdtrit  # scipy.stats takes longer to import than all of this

    halves = stdtrit(n - 1, (1 + COVERAGE) / 2) * spreads / math.sqrt(n)
    return points, points - halves, points + halves, spreads


def _estimates(columns: tuple[Floats, ...], unit: str, n: int, method: str) -> list[Estimate]:
    few = n < FEWEST_FOR_INTERVAL
    method = (MEAN_RANGE if n > 1 else SINGLE) if few else method
    return [
        Estimate(point, low, high, unit, n, method, None if few else COVERAGE, spread)
        for point, low, high, spread in np.column_stack(columns).tolist()
    ]


# ----------------------------------------------------------------------------------------- unpaired
# The ratio of two studies' medians, whose runs were not made side by side.
#
# No run of yesterday pairs with one of today, so every run of the one is divided by every run
# of the other. The median of those ratios is Hodges' and Lehmann's estimate on a log scale; its
# interval is the inverse of the rank-sum test (M. Hollander, D. A. Wolfe, E. Chicken, Nonparametric
# Statistical Methods, 3rd ed. (2014), 4.2 and 4.3) and holds if the two differ by a factor only. It
# knows nothing of what changed on the machine in between.


def ratio(over: Iterable[float], under: Iterable[float]) -> Estimate:
    """The median ratio of a value of `over` to one of `under`; `n` is that of the smaller side.

    With fewer than six values on a side `low` and `high` are the range. `spread` is that of the
    single ratios. Values that are not finite and positive are left out.
    """
    ours, theirs = (np.array([v for v in side if 0 < v < math.inf]) for side in (over, under))
    n = min(len(ours), len(theirs))
    if n == 0:
        return median([], RATIO)
    with np.errstate(over="ignore", under="ignore"):  # by figures that no run has
        every = np.sort(np.divide.outer(ours, theirs).ravel())
    of_all = median(every, RATIO)
    point, spread = of_all.point, of_all.spread
    if n < FEWEST_FOR_INTERVAL:
        low, high = float(every[0]), float(every[-1])
        return Estimate(point, low, high, RATIO, n, "unpaired, median and range", None, spread)
    rank, coverage = _rank(len(ours), len(theirs))
    low, high = float(every[rank - 1]), float(every[-rank])
    method = "unpaired, rank sum (Hodges-Lehmann)"
    return Estimate(point, low, high, RATIO, n, method, coverage, spread)


@cache
def _rank(ours: int, theirs: int) -> tuple[int, float]:
    """The largest k for which the k-th smallest and k-th largest ratio cover at 95 % or more."""
    orders = _rank_sums(ours, theirs)
    total, below, rank = math.comb(ours + theirs, ours), 0, 0
    while 1 - 2 * (below + orders[rank]) / total >= COVERAGE:
        below += orders[rank]
        rank += 1
    return rank, 1 - 2 * below / total


def _rank_sums(ours: int, theirs: int) -> list[int]:
    """In how many orders of all values Mann and Whitney's U is 0, 1, …, ours × theirs.

    They are the coefficients of the Gaussian binomial: the product of (1 - q^(theirs + i)) over
    (1 - q^i), i = 1 … ours, multiplied and divided term by term.
    """
    orders = [1] + [0] * (ours * theirs)
    for i in range(1, ours + 1):
        for power in range(len(orders) - 1, theirs + i - 1, -1):
            orders[power] -= orders[power - theirs - i]
        for power in range(i, len(orders)):
            orders[power] += orders[power - i]
    return orders
