"""Laws of scaling: what a curve follows inside one topology region.

Both are the Universal Scalability Law (N. J. Gunther, Guerrilla Capacity Planning, Springer 2007,
eq. 4.31), Amdahl's (AFIPS 30, 1967, 483-485) with beta = 0:

    X(N) = gamma N / (1 + alpha (N - 1) + beta N (N - 1))

`gamma` is the throughput of one worker in operations/s, `alpha` the contention (the share of the
work that only one can do at a time), `beta` the coherency (what each pair of workers costs). A
curve bends where the hardware does, so a law is fitted inside one region. Each block is fitted by
itself, and parameters are medians over the blocks with the interval of every other figure: in
simulated studies with the noise of runs these hold the parameters in 89 % or more
(tests/analysis/test_laws_recover_what_is_known.py).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from warnings import catch_warnings

import numpy as np
from scipy.optimize import OptimizeWarning, curve_fit

from scaling.analysis.arrays import Floats
from scaling.analysis.curves import Curve
from scaling.analysis.statistics.estimate import Estimate, medians

PARAMETERS, UNITS = ("gamma", "alpha", "beta"), ("operations/s", "", "")
UPPER = (math.inf, 1.0, 1.0)  # the lower bound of each parameter is 0
AMDAHL, USL = 2, 3  # how many of the parameters each law has
NAMES = {AMDAHL: "Amdahl", USL: "USL"}
FIRST: Floats = np.array([1.0, 0.01, 1e-4])  # where the search begins, with X(1) as the unit
FEWEST_N = 6  # distinct Ns in a region


def throughput(workers: Floats, gamma: float, alpha: float, beta: float = 0.0) -> Floats:
    """X(N) in operations/s, of the shape of `workers`."""
    divisor = 1 + alpha * (workers - 1) + beta * workers * (workers - 1)
    return np.asarray(gamma * workers / divisor)


def fit(workers: Floats, values: Floats, count: int, sigma: Floats | None = None) -> Floats:
    """The parameters (`count`,) that fit `values` (K,) at `workers` (K,) best; NaN where none do.

    Residuals are divided by `sigma` (K,). Nothing bounds the parameters: noise around 0 has both
    signs, and their medians would be too large without the negative ones.
    """
    unit = np.array([values[0] / workers[0], 1.0, 1.0])[:count]
    try:
        # A perfect fit is warned of, and the search may pass where the divisor is 0.
        with catch_warnings(action="ignore", category=OptimizeWarning), np.errstate(all="ignore"):
            found, _ = curve_fit(throughput, workers, values / unit[0], FIRST[:count], sigma)
    except RuntimeError:  # the search does not end
        return np.full(count, np.nan)
    return np.asarray(found * unit)


@dataclass(frozen=True, slots=True)
class Law:
    """The law of a curve in one `region` of the machine, at these Ns.

    It is the Universal Scalability Law if the interval of its beta excludes 0, else Amdahl's, whose
    intervals cover those of both: the data do not prove that beta is 0. `estimates` are of its
    parameters and, of the Universal Scalability Law, of the N with the highest throughput (`peak`).
    `fits` have the parameters of each block, (blocks, P): those of the law, then the others.
    """

    curve: Curve
    region: str
    workers: tuple[int, ...]
    name: str
    estimates: dict[str, Estimate]
    fits: tuple[Floats, ...]

    def at(self, workers: Floats) -> tuple[Floats, Floats, Floats]:
        """The law at `workers` (K,) in operations/s with its 95 % interval: point, low, high."""
        predicted = (_predicted(fits, workers) for fits in self.fits)
        known = [[(each.point, each.low, each.high) for each in medians(p, "")] for p in predicted]
        found = np.array(known)  # (fits, K, 3)
        return found[0, :, 0], found[..., 1].min(axis=0), found[..., 2].max(axis=0)


def _predicted(fits: Floats, workers: Floats) -> Floats:
    """What each of `fits` (blocks, P) says of `workers` (K,): (blocks, K)."""
    return np.stack([throughput(workers, *block) for block in fits])


def laws(curve: Curve) -> Iterator[Law]:
    """The law of each region in which a curve has `FEWEST_N` Ns or more, in order of N."""
    measured = [point for point in curve.points if point.throughput.n]
    for region, points in groupby(measured, lambda point: point.region):
        ns = tuple(point.workers for point in points)
        runs = curve.values["throughput"][:, [curve.workers.index(n) for n in ns]]
        whole = runs[(runs > 0).all(axis=1)]
        if region is not None and len(ns) >= FEWEST_N and len(whole):
            law = _law(curve, region, ns, whole)
            if law.estimates["gamma"].n:
                yield law


def _law(curve: Curve, region: str, ns: tuple[int, ...], runs: Floats) -> Law:
    """The law of `runs` (blocks, K), each of them known, at these Ns."""
    workers = np.array(ns, float)
    usl, amdahl = (
        np.array([fit(workers, block, count, sigma=block) for block in runs])
        for count in (USL, AMDAHL)
    )
    is_usl = medians(usl, "")[-1].low > 0
    fits = (usl,) if is_usl else (amdahl, usl)
    count = USL if is_usl else AMDAHL
    known = [medians(each[:, :count], UNITS[:count]) for each in fits]
    estimates = {
        name: _covering([each[place] for each in known], UPPER[place])
        for place, name in enumerate(PARAMETERS[:count])
    }
    if is_usl:
        estimates["peak"] = _peak(estimates["alpha"], estimates["beta"])
    return Law(curve, region, ns, NAMES[count], estimates, fits)


def _covering(several: Sequence[Estimate], most: float) -> Estimate:
    """The first estimate, with an interval that covers those of all; from 0 to `most`."""
    point, low, high = (
        min(max(end, 0.0), most)
        for end in (
            several[0].point,
            min(each.low for each in several),
            max(each.high for each in several),
        )
    )
    return replace(several[0], point=point, low=low, high=high)


def _peak(alpha: Estimate, beta: Estimate) -> Estimate:
    """The N with the highest throughput; more of either parameter lowers it."""
    point, high, low = (
        math.sqrt((1 - a) / b)
        for a, b in ((alpha.point, beta.point), (alpha.low, beta.low), (alpha.high, beta.high))
    )
    return replace(beta, point=point, low=low, high=high)
