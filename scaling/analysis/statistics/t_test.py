"""Student's and Welch's t tests against any value, from a mean and its standard error.

`scipy.stats` has the same tests (`ttest_1samp`, `ttest_ind`); importing it takes longer than
analysing a study, and `scipy.special` has the distribution.
"""

import math
from typing import NamedTuple

import numpy as np

from scaling.analysis.arrays import Floats


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
