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


class Correction(NamedTuple):
    """How the p-values of a family are corrected for how many there are.

    `adjust` takes them in rising order, shape (n,), and gives each its corrected value.
    """

    name: str
    adjust: Callable[[Floats], Floats]


def _holm(rising: Floats) -> Floats:
    return np.maximum.accumulate(rising * np.arange(len(rising), 0, -1))


def _benjamini_hochberg(rising: Floats) -> Floats:
    scaled = rising * len(rising) / np.arange(1, len(rising) + 1)
    return np.minimum.accumulate(scaled[::-1])[::-1]


CORRECTIONS: dict[Family, Correction] = {
    "primary": Correction("Holm", _holm),
    "exploratory": Correction("Benjamini–Hochberg", _benjamini_hochberg),
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
