"""The laws as formulas: what N workers do, how that changes with each parameter, where it peaks.

All three are the Universal Scalability Law (N. J. Gunther, Guerrilla Capacity Planning, Springer
2007, eq. 4.31) with some of its parameters held at 0:

    X(N) = gamma N / (1 + alpha (N - 1) + beta N (N - 1))

`gamma` is the throughput of one worker, `alpha` the contention (the share of the work that only one
can do at a time), `beta` the coherency (what each pair of workers costs). With beta = 0 it is the
law of G. M. Amdahl (AFIPS 30, 1967, 483-485), with alpha = 0 as well the line gamma N.

Parameters are arrays (..., P), in the order of `PARAMETERS` and as many of them as a law has.
"""

from dataclasses import dataclass

import numpy as np

from scaling.analysis.arrays import Floats

PARAMETERS = ("gamma", "alpha", "beta")

# Contention is a share of the work. At beta = alpha = 1 all N workers together do 1/N of what one
# does alone: nothing that scales is worse. R's package usl has the same bounds.
UPPER: Floats = np.array([np.inf, 1.0, 1.0])


@dataclass(frozen=True, slots=True)
class Law:
    """One of the laws: its name, and how many of `PARAMETERS` it has."""

    name: str
    count: int

    @property
    def parameters(self) -> tuple[str, ...]:
        """Their names."""
        return PARAMETERS[: self.count]


LINEAR, AMDAHL, USL = LAWS = (Law("linear", 1), Law("Amdahl", 2), Law("USL", 3))


def capacity(workers: Floats, shape: Floats) -> Floats:
    """X(N) / gamma, (..., K), for `workers` (K,) and alpha and beta (..., P - 1)."""
    return workers / _divisor(workers, shape)


def throughput(workers: Floats, parameters: Floats) -> Floats:
    """X(N), (..., K), for `workers` (K,) and parameters (..., P)."""
    return parameters[..., :1] * capacity(workers, parameters[..., 1:])


def slopes(workers: Floats, parameters: Floats) -> Floats:
    """How X(N) changes with each parameter: (..., K, P)."""
    one = capacity(workers, parameters[..., 1:])
    loss = -parameters[..., :1] * one / _divisor(workers, parameters[..., 1:])
    terms = _terms(workers, parameters.shape[-1] - 1)
    return np.stack([one, *(loss * term for term in terms)], axis=-1)


def peak(alpha: Floats, beta: Floats) -> Floats:
    """The N with the highest throughput, sqrt((1 - alpha) / beta): inf where beta is 0.

    Below 1, a second worker already is one too many.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(beta > 0, np.sqrt((1 - alpha) / beta), np.inf)


def _terms(workers: Floats, count: int) -> tuple[Floats, ...]:
    return (workers - 1, workers * (workers - 1))[:count]


def _divisor(workers: Floats, shape: Floats) -> Floats:
    divisor = np.ones_like(workers)
    for place, term in enumerate(_terms(workers, shape.shape[-1])):
        divisor = divisor + shape[..., place, None] * term
    return divisor
