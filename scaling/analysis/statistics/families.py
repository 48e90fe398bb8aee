"""The two families of a study's hypotheses, and how their p-values are corrected.

A study tests many hypotheses at once, and one in twenty true ones would be rejected by chance. The
*primary* ones are named before the study is measured: S. Holm's correction (Scand. J. Statist. 6
(1979), 65) keeps the chance that any of their words `faster` and `slower` is wrong below 5 %, and
likewise that any of their `same` is. All others are *exploratory*: the correction of Y. Benjamini
and Y. Hochberg (J. R. Statist. Soc. B 57 (1995), 289) keeps the share of wrong words among those
given below 5 % on average. `python -m tests.benchmarks families` simulates both.
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from scaling.analysis.arrays import Floats

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
