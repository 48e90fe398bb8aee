"""The laws as formulas, and least squares inside their bounds: of one set of values or of many.

All three are the Universal Scalability Law (N. J. Gunther, Guerrilla Capacity Planning, Springer
2007, eq. 4.31) with some of its parameters held at 0:

    X(N) = gamma N / (1 + alpha (N - 1) + beta N (N - 1))

`gamma` is the throughput of one worker, `alpha` the contention (the share of the work that only one
can do at a time), `beta` the coherency (what each pair of workers costs). With beta = 0 it is the
law of G. M. Amdahl (AFIPS 30, 1967, 483-485), with alpha = 0 as well the line gamma N.

Parameters are arrays (..., P), in the order of `PARAMETERS` and as many of them as a law has.
An interval takes a thousand fits of nearly the same values. `scipy.optimize.least_squares` does
them one by one, in 0.8 ms each or a second or more for an interval; here they are done together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from scaling.analysis.arrays import Floats

PARAMETERS = ("gamma", "alpha", "beta")

# Contention is a share of the work. At beta = alpha = 1 all N workers together do 1/N of what one
# does alone: nothing that scales is worse. R's package usl has the same bounds.
UPPER: Floats = np.array([np.inf, 1.0, 1.0])

# Noisy values may have several valleys: the search begins at each of these, and the deepest counts.
ALPHAS = (0.0, 1e-3, 1e-2, 0.1, 0.4, 1.0)
BETAS = (0.0, *np.geomspace(1e-8, 1, 9))

STEPS = 200
CLOSE = 1e-9  # of a parameter, so that a fit does not depend on when it was stopped
STUCK = 1e9  # damping at which steps are too short to matter


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


def throughput(workers: Floats, parameters: Floats) -> Floats:
    """X(N), (..., K), for `workers` (K,) and parameters (..., P)."""
    return np.asarray(parameters[..., :1] * workers / _divisor(workers, parameters))


def slopes(workers: Floats, parameters: Floats) -> Floats:
    """How X(N) changes with each parameter: (..., K, P)."""
    divisor = _divisor(workers, parameters)
    loss = -parameters[..., :1] * workers / divisor**2
    terms = _terms(workers, parameters).T
    return np.concatenate([(workers / divisor)[..., None], loss[..., None] * terms], axis=-1)


def fit_one(law: Law, workers: Floats, values: Floats) -> Floats:
    """The parameters (P,) with the least squares, of all within the bounds; `values` (K,)."""
    shapes = np.array([[1.0, *each] for each in product(*(ALPHAS, BETAS)[: law.count - 1])])
    ones = throughput(workers, shapes)
    shapes[:, 0] = ones @ values / np.sum(ones**2, axis=1)  # the best gamma for each
    ends = fit_many(law, workers, np.tile(values, (len(shapes), 1)), shapes)
    squares = np.sum((throughput(workers, ends) - values) ** 2, axis=1)
    return np.asarray(ends[np.argmin(squares)])


def fit_many(
    law: Law, workers: Floats, values: Floats, start: Floats, absent: Sequence[str] = ()
) -> Floats:
    """The parameters (R, P) for each row of `values` (R, K), searched from `start` (P,) or (R, P).

    `values` are near 1. Levenberg's and Marquardt's steps, kept inside the bounds: a parameter at a
    bound that the slope would push through it is left out of the step. Those named in `absent` stay
    at 0. A value that is NaN counts for nothing.
    """
    never, upper = np.isin(law.parameters, absent), UPPER[: law.count]
    # What a parameter must change by for all to matter as much at the largest N.
    sizes = (1 / workers.max()) ** np.array([1, 1, 2])[: law.count]
    known = np.isfinite(values)
    targets = np.where(known, values, 0.0)
    rows, damping = np.arange(len(values)), np.full(len(values), 1e-3)
    found = np.where(never, 0.0, np.broadcast_to(start, (len(values), law.count)))
    for _ in range(STEPS):
        here, seen = found[rows], known[rows]
        residuals = (targets[rows] - throughput(workers, here)) * seen
        jacobian = slopes(workers, here) * seen[..., None] * sizes
        downhill = np.einsum("rkp,rk->rp", jacobian, residuals)
        held = never | ((here <= 0) & (downhill < 0)) | ((here >= upper) & (downhill > 0))
        jacobian = np.where(held[:, None], 0.0, jacobian)
        curvature = np.einsum("rkp,rkq->rpq", jacobian, jacobian)
        diagonal = np.einsum("rpp->rp", curvature)
        diagonal += np.where(held, 1.0, diagonal * damping[rows, None] + 1e-30)
        step = np.linalg.solve(curvature, np.where(held, 0.0, downhill)[..., None])[..., 0] * sizes
        there = np.clip(here + step, 0, upper)
        left = (targets[rows] - throughput(workers, there)) * seen
        better = np.sum(left**2, axis=1) < np.sum(residuals**2, axis=1)
        found[rows[better]] = there[better]
        damping[rows] *= np.where(better, 0.1, 10)
        moved = (np.abs(there - here) > CLOSE * (sizes + here)).any(axis=1)
        rows = rows[moved & (damping[rows] < STUCK)]
        if not len(rows):
            break
    return found


def _terms(workers: Floats, parameters: Floats) -> Floats:
    """What alpha and beta are multiplied by, as far as a law has them: (P - 1, K)."""
    return np.stack([workers - 1, workers * (workers - 1)])[: parameters.shape[-1] - 1]


def _divisor(workers: Floats, parameters: Floats) -> Floats:
    return np.asarray(1 + parameters[..., 1:] @ _terms(workers, parameters))
