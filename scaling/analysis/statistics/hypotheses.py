"""Tests of a study's hypotheses: t tests, and how the p-values of a family are corrected."""

import math
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from scaling.analysis.arrays import Floats

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
