"""Means with intervals, for figures that have to add up: medians of parts do not sum to the whole.

The interval is Student's. From two values on it exists; with few it is wide, as it should be.
"""

import math

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.statistics.estimate import COVERAGE, Estimate
from scaling.analysis.statistics.t_test import mean_of

SINGLE, MEAN, GEOMETRIC = "single value", "mean, Student's t", "geometric mean, Student's t"
NO_MEAN = Estimate(math.nan, math.nan, math.nan, "", 0, "no value")


def mean(values: Floats, unit: str) -> Estimate:
    """The mean of one value per block with its 95 % interval; of one value there is none.

    Values that are not finite are left out.
    """
    known = values[np.isfinite(values)]
    n = len(known)
    if n < 2:
        point = float(known[0]) if n else math.nan
        return Estimate(point, point, point, unit, n, SINGLE if n else NO_MEAN.method)
    from scipy.special import stdtrit

    found = mean_of(known)
    half = float(stdtrit(found.freedom, (1 + COVERAGE) / 2)) * found.error
    spread = float(np.std(known, ddof=1))
    low, high = found.value - half, found.value + half
    return Estimate(found.value, low, high, unit, n, MEAN, COVERAGE, spread)


def geometric_mean(logarithms: Floats, unit: str = "×") -> Estimate:
    """The geometric mean of factors, from their logarithms: such means multiply as factors do."""
    found = mean(logarithms, unit)
    if not found.n:
        return found
    point, low, high = (math.exp(each) for each in (found.point, found.low, found.high))
    method = GEOMETRIC if found.n > 1 else SINGLE
    return Estimate(point, low, high, unit, found.n, method, found.coverage, found.spread)
