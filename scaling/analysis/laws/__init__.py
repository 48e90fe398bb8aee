"""Scaling laws: linear, Amdahl and Gunther's Universal Scalability Law, fitted with intervals.

`fit = fit_usl(workers, throughput)` takes two arrays, and has `fit.alpha`, `fit.beta`, `fit.gamma`,
`fit.peak`, `fit.predict(12)`, `fit.band(12)` and `fit.intervals["alpha"]`.
"""

from scaling.analysis.laws.fits import Choice, Fit, choose, fit_amdahl, fit_linear, fit_usl
from scaling.analysis.laws.observations import FEWEST_N, karp_flatt

__all__ = [
    "FEWEST_N",
    "Choice",
    "Fit",
    "choose",
    "fit_amdahl",
    "fit_linear",
    "fit_usl",
    "karp_flatt",
]
