"""Least squares inside bounds: one fit with care, and many like it at once.

The one fit is scipy's. An interval takes a thousand fits of nearly the same values, which scipy
would do one by one at a few milliseconds each; the second function does them together.
"""

from collections.abc import Sequence

import numpy as np

from scaling.analysis.arrays import Floats, Integers
from scaling.analysis.laws.formula import UPPER, Law, capacity, slopes, throughput

ALPHAS = np.concatenate([[0.0], np.geomspace(1e-4, 1, 25)])
BETAS = np.concatenate([[0.0], np.geomspace(1e-9, 1, 46)])

MOST_VALLEYS = 4
EXACTLY = 1e-15  # a fit does not depend on when it was stopped

STEPS = 60
CLOSE = 1e-6  # of a parameter: no interval is printed with as many digits
STUCK = 1e9  # damping at which steps are too short to matter


def fit_one(law: Law, workers: Floats, values: Floats) -> Floats:
    """The parameters (P,) with the least squares, of all within the bounds.

    `values` (K,) are near 1. Noisy ones may have several valleys: the search goes down each that a
    grid over alpha and beta finds, and the deepest end is taken.
    """
    from scipy.optimize import least_squares  # slow to import, and many a study has too few points

    def residuals(parameters: Floats) -> Floats:
        return throughput(workers, parameters) - values

    def jacobian(parameters: Floats) -> Floats:
        return slopes(workers, parameters)

    ends = [
        least_squares(
            residuals,
            start,
            jacobian,
            (np.zeros(law.count), UPPER[: law.count]),
            method="dogbox",  # ends on a bound, where "trf" ends beside it
            x_scale=_sizes(law, workers),
            ftol=EXACTLY,
            xtol=EXACTLY,
            gtol=EXACTLY,
        )
        for start in _valleys(law, workers, values)
    ]
    return np.asarray(min(ends, key=lambda end: float(end.cost)).x)


def fit_many(
    law: Law, workers: Floats, values: Floats, start: Floats, absent: Sequence[str] = ()
) -> Floats:
    """The parameters (R, P) for each row of `values` (R, K), searched from `start` (P,).

    Levenberg's and Marquardt's steps, kept inside the bounds: a parameter at a bound that the
    slope would push through it is left out of the step. Those named in `absent` stay at 0. A value
    that is NaN counts for nothing.
    """
    never = np.isin(law.parameters, absent)
    start = np.where(never, 0.0, start)
    known = np.isfinite(values)
    targets = np.where(known, values, 0.0)
    upper, sizes = UPPER[: law.count], _sizes(law, workers)
    found = np.tile(start, (len(values), 1))
    damping = np.full(len(values), 1e-3)

    def squares(parameters: Floats, rows: Integers) -> tuple[Floats, Floats]:
        residuals = (targets[rows] - throughput(workers, parameters)) * known[rows]
        return residuals, np.einsum("rk,rk->r", residuals, residuals)

    rows = np.arange(len(values))
    for _ in range(STEPS):
        here = found[rows]
        residuals, cost = squares(here, rows)
        jacobian = slopes(workers, here) * known[rows, :, None] * sizes
        downhill = np.einsum("rkp,rk->rp", jacobian, residuals)
        held = never | ((here <= 0) & (downhill < 0)) | ((here >= upper) & (downhill > 0))
        curvature = np.einsum("rkp,rkq->rpq", jacobian, jacobian)
        diagonal = np.einsum("rpp->rp", curvature)
        free = ~held
        curvature = curvature * (free[:, :, None] & free[:, None, :])
        place = np.arange(law.count)
        curvature[:, place, place] = np.where(held, 1, diagonal * (1 + damping[rows, None]) + 1e-30)
        step = np.linalg.solve(curvature, np.where(held, 0, downhill)[..., None])[..., 0] * sizes
        there = np.clip(here + step, 0, upper)
        better = squares(there, rows)[1] < cost
        found[rows[better]] = there[better]
        damping[rows] *= np.where(better, 0.1, 10)
        moved = (np.abs(there - here) > CLOSE * (sizes + here)).any(axis=1)
        rows = rows[moved & (damping[rows] < STUCK)]
        if not len(rows):
            break
    return found


def _valleys(law: Law, workers: Floats, values: Floats) -> Floats:
    """Starts (S, P): grid points of alpha and beta that have no better neighbour, the best first.

    Each has the gamma that suits it, by projection: sum(X c) / sum(c c) for capacities c.
    """
    axes = (ALPHAS, BETAS)[: law.count - 1]
    shapes = np.stack([*np.meshgrid(*axes, indexing="ij"), np.empty([*map(len, axes)])], axis=-1)
    one = capacity(workers, shapes[..., :-1])
    along, own = one @ values, np.sum(one**2, axis=-1)
    explained = along**2 / own  # of the squares; the rest is left
    edged = np.pad(explained, 1, constant_values=-np.inf)
    around = np.lib.stride_tricks.sliding_window_view(edged, (3,) * explained.ndim)
    tops = explained >= around.max(axis=tuple(range(explained.ndim, 2 * explained.ndim)))
    order = np.argsort(-explained[tops])[:MOST_VALLEYS]
    starts = np.column_stack([along[tops] / own[tops], shapes[tops][:, :-1]])
    return np.asarray(starts[order])


def _sizes(law: Law, workers: Floats) -> Floats:
    """What a parameter must change by for all to matter as much at the largest N."""
    largest = float(workers.max())
    return np.array([1 / largest, 1 / largest, 1 / largest**2])[: law.count]
