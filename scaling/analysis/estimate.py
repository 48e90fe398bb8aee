"""One type for every figure that is printed or drawn: a point, its interval, and what that is.

Runs are few, so nothing is assumed of their distribution. From six values on the interval for the
median is the one from order statistics, which covers at no less than its rate for any continuous
distribution; it is as wide as that costs. Below six no 95 % interval of this kind exists, and the
range is given, under that name.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np

COVERAGE = 0.95
FEWEST_FOR_INTERVAL = 6  # with n = 5 the whole range covers the median in 1 - 2/2^5 = 93.75 %


@dataclass(frozen=True, slots=True)
class Estimate:
    """A median with its interval or range.

    `low` and `high` are NaN where there is nothing to estimate (n = 0). `coverage` is the share of
    such intervals that hold the true median, None for a range.
    """

    point: float
    low: float
    high: float
    unit: str
    n: int
    method: str
    coverage: float | None = None

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
        )


def median(values: Iterable[float], unit: str) -> Estimate:
    """The median of one value per block, with what can be said of its accuracy.

    Values that are not finite are left out.
    """
    known = np.sort([value for value in values if math.isfinite(value)])
    n = len(known)
    if n == 0:
        return Estimate(math.nan, math.nan, math.nan, unit, 0, "no value")
    point = float(np.median(known))
    if n < FEWEST_FOR_INTERVAL:
        return Estimate(point, float(known[0]), float(known[-1]), unit, n, "median and range")
    rank, coverage = _ranks(n)
    low, high = float(known[rank - 1]), float(known[n - rank])
    method = f"median, order statistics {rank} and {n - rank + 1}"
    return Estimate(point, low, high, unit, n, method, coverage)


@cache
def _ranks(n: int) -> tuple[int, float]:
    """The largest k for which the k-th smallest and k-th largest of n cover at 95 % or more.

    The number of values below the median is binomial (n, 1/2), so they cover with probability
    1 - 2 P(B < k): H. A. David, H. N. Nagaraja, Order Statistics, 3rd ed. (2003), 7.1.
    """
    from scipy.special import bdtr  # scipy.stats takes longer to import than a plan to make

    ranks = np.arange(1, n // 2 + 1)
    covers = 1 - 2 * bdtr(ranks - 1, n, 0.5)
    rank = int(ranks[covers >= COVERAGE][-1])
    return rank, float(covers[rank - 1])
