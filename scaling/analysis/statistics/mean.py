"""Means with intervals, for figures that have to add up: medians of parts do not sum to the whole.

The interval is Student's. It needs two values; of few it is wide, as it should be.
"""

import math

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.statistics.estimate import COVERAGE, Estimate

SINGLE, MEAN, GEOMETRIC = "single value", "mean, Student's t", "geometric mean, Student's t"
NO_MEAN = Estimate(math.nan, math.nan, math.nan, "", 0, "no value")


def means(table: Floats, unit: str) -> list[Estimate]:
    """The mean of each column of a table of finite values, shape (blocks, columns).

    Each has its 95 % interval; of a single block there is none.
    """
    points, halves, spreads = _moments(table)
    lows, highs = points - halves, points + halves
    return _estimates((points, lows, highs, spreads), unit, len(table), MEAN)


def geometric_means(logarithms: Floats, unit: str = "×") -> list[Estimate]:
    """The geometric means of factors, from a table of their logarithms: these multiply as factors
    do. The spread is that of the logarithms.
    """
    points, halves, spreads = _moments(logarithms)
    ends = (np.exp(each) for each in (points, points - halves, points + halves))
    return _estimates((*ends, spreads), unit, len(logarithms), GEOMETRIC)


def _moments(table: Floats) -> tuple[Floats, Floats, Floats]:
    """Of each column the mean, half its interval and the standard deviation of one value."""
    n = len(table)
    points = table.mean(axis=0)
    if n < 2:
        return points, np.zeros_like(points), np.full_like(points, np.nan)
    from scipy.special import stdtrit  # scipy.stats takes longer to import than all of this

    spreads = table.std(axis=0, ddof=1)
    spreads[np.ptp(table, axis=0) == 0] = 0.0  # not rounding error
    return points, stdtrit(n - 1, (1 + COVERAGE) / 2) * spreads / math.sqrt(n), spreads


def _estimates(columns: tuple[Floats, ...], unit: str, n: int, method: str) -> list[Estimate]:
    several = n > 1
    return [
        Estimate(
            point,
            low,
            high,
            unit,
            n,
            method if several else SINGLE,
            COVERAGE if several else None,
            spread,
        )
        for point, low, high, spread in np.column_stack(columns).tolist()
    ]
