"""The ratio of two studies' medians, whose runs were not made side by side.

No run of yesterday pairs with one of today, so every run of the one is divided by every run
of the other. The median of those ratios is Hodges' and Lehmann's estimate on a log scale; its
interval is the inverse of the rank-sum test (M. Hollander, D. A. Wolfe, E. Chicken, Nonparametric
Statistical Methods, 3rd ed. (2014), 4.2 and 4.3) and holds if the two differ by a factor only. It
knows nothing of what changed on the machine in between.
"""

import math
from collections.abc import Iterable
from functools import cache

import numpy as np

from scaling.analysis.statistics.estimate import COVERAGE, Estimate, median
from scaling.study.presets import FEWEST_FOR_INTERVAL


def ratio(over: Iterable[float], under: Iterable[float], unit: str = "×") -> Estimate:
    """The median ratio of a value of `over` to one of `under`; `n` is that of the smaller side.

    With fewer than six values on a side `low` and `high` are the range. `spread` is that of the
    single ratios. Values that are not finite and positive are left out.
    """
    ours, theirs = (np.array([v for v in side if 0 < v < math.inf]) for side in (over, under))
    n = min(len(ours), len(theirs))
    if n == 0:
        return Estimate(math.nan, math.nan, math.nan, unit, 0, "no value")
    with np.errstate(over="ignore", under="ignore"):  # by figures that no run has
        every = np.sort(np.divide.outer(ours, theirs).ravel())
    of_all = median(every, unit)
    point, spread = of_all.point, of_all.spread
    if n < FEWEST_FOR_INTERVAL:
        low, high = float(every[0]), float(every[-1])
        return Estimate(point, low, high, unit, n, "unpaired, median and range", None, spread)
    rank, coverage = _rank(len(ours), len(theirs))
    low, high = float(every[rank - 1]), float(every[-rank])
    method = "unpaired, rank sum (Hodges-Lehmann)"
    return Estimate(point, low, high, unit, n, method, coverage, spread)


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
