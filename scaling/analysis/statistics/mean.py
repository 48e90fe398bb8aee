"""Means with intervals, for figures that have to add up: medians of parts do not sum to the whole.

The interval is Student's. Below six values there is a range instead, as with medians: Student's
interval of two factors that differ by a third reaches from 0.09 to 7.5, which says nothing.
"""

import math

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.statistics.estimate import COVERAGE, Estimate
from scaling.study.presets import FEWEST_FOR_INTERVAL

SINGLE, RANGE = "single value", "mean and range"
MEAN, GEOMETRIC = "mean, Student's t", "geometric mean, Student's t"
NO_MEAN = Estimate(math.nan, math.nan, math.nan, "", 0, "no value")


def means(table: Floats, unit: str) -> list[Estimate]:
    """The mean of each column of a table of finite values, shape (blocks, columns).

    Each has its 95 % interval, or its range below six blocks; of a single block there is neither.
    """
    return _estimates(_moments(table), unit, len(table), MEAN)


def geometric_means(logarithms: Floats, unit: str = "×") -> list[Estimate]:
    """The geometric means of factors, from a table of their logarithms: these multiply as factors
    do. The spread is that of the logarithms.
    """
    *ends, spreads = _moments(logarithms)
    return _estimates((*map(np.exp, ends), spreads), unit, len(logarithms), GEOMETRIC)


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
    method = (RANGE if n > 1 else SINGLE) if few else method
    return [
        Estimate(point, low, high, unit, n, method, None if few else COVERAGE, spread)
        for point, low, high, spread in np.column_stack(columns).tolist()
    ]
