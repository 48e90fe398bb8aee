"""Fits of the laws: parameters with intervals, and what the law then says of other Ns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from scaling.analysis.arrays import Floats
from scaling.analysis.laws import formula
from scaling.analysis.laws.formula import AMDAHL, LINEAR, USL, Law
from scaling.analysis.laws.observations import at_least_one, observe
from scaling.analysis.laws.resample import Resamples, resample
from scaling.analysis.laws.solution import Solution, solve
from scaling.analysis.statistics.estimate import COVERAGE, Estimate

SEED = 1


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """A fitted law. Its parameters are floats; `intervals` holds the 95 % interval of each.

    `gamma` is in operations/s, `alpha` and `beta` are pure numbers, `peak` is the N with the
    highest throughput: inf where no N is (beta is 0). `at_bound` names the parameters that the
    data would push out of bounds: their values are the bound and no measurement. A fit with any
    describes the points and explains nothing.

    `points` values at distinct Ns `n_min` … `n_max` were fitted. `residual_per_s` is their standard
    deviation around the law (root of the sum of squares over points less parameters), `r_squared`
    the share of their variance that it explains (negative if a flat line would do better), `aicc`
    what `choose` compares.
    """

    law: ClassVar[Law]

    gamma: float
    alpha: float
    beta: float
    peak: float
    intervals: Mapping[str, tuple[float, float]]
    at_bound: tuple[str, ...]
    points: int
    n_min: float
    n_max: float
    residual_per_s: float
    r_squared: float
    aicc: float
    method: str
    resamples: Resamples
    unit_per_s: float

    def predict(self, n: npt.ArrayLike) -> Floats:
        """Operations/s of `n` workers, in the shape of `n` (a number or an array of any shape).

        Raises:
            ValueError: NaN or infinity, or an N below 1.
        """
        own = [getattr(self, name) for name in self.law.parameters]
        return np.asarray(self._at(n, np.array([own]))[..., 0])

    def band(self, n: npt.ArrayLike) -> tuple[Floats, Floats]:
        """The 95 % interval of the law at `n`: low and high, each in the shape of `n`.

        It is about the law, not about single runs, and holds at each N by itself.

        Raises:
            ValueError: NaN or infinity, or an N below 1.
        """
        low, high = self.resamples.interval(lambda parameters: self._at(n, parameters))
        return low * self.unit_per_s, high * self.unit_per_s

    def estimate(self, name: str) -> Estimate:
        """`gamma`, `alpha`, `beta` or `peak` with its interval, for tables."""
        low, high = self.intervals[name]
        unit = "operations/s" if name == "gamma" else ""
        return Estimate(
            getattr(self, name), low, high, unit, self.points, self.method, coverage=COVERAGE
        )

    def _at(self, n: npt.ArrayLike, parameters: Floats) -> Floats:
        """What each row of parameters says: the shape of `n`, then rows."""
        ns = np.asarray(n, dtype=np.float64)
        if not np.isfinite(ns).all():
            raise ValueError("n has NaN or infinity in it")
        at_least_one(ns)
        return formula.throughput(ns.ravel(), parameters).T.reshape(*ns.shape, len(parameters))


@dataclass(frozen=True, slots=True, eq=False)
class LinearFit(Fit):
    """Every worker adds what the first one does: gamma N."""

    law = LINEAR


@dataclass(frozen=True, slots=True, eq=False)
class AmdahlFit(Fit):
    """A part `alpha` of the work is done by one worker at a time."""

    law = AMDAHL


@dataclass(frozen=True, slots=True, eq=False)
class UslFit(Fit):
    """Contention `alpha`, and a cost `beta` of every pair of workers."""

    law = USL


def fit_usl(
    workers: npt.ArrayLike,
    throughput: npt.ArrayLike,
    blocks: npt.ArrayLike | None = None,
    *,
    seed: int = SEED,
) -> UslFit:
    """Fit the Universal Scalability Law by least squares, with intervals by bootstrap.

    Of all gamma > 0, 0 ≤ alpha ≤ 1 and 0 ≤ beta ≤ 1 these are the ones with the smallest sum of
    squared differences in throughput, as in Gunther's book and in R's package usl.

    Args:
        workers: N of each value, (K,): 1 or more, whole or not, in any order; an N may come again.
        throughput: operations/s, or in any other unit, (K,): positive.
        blocks: which block each value was run in, (K,), numbers or words. With them the law is
            fitted to the median at each N, and from six blocks on the intervals are of blocks
            drawn again; without, every value is fitted, and residuals are drawn.
        seed: of the bootstrap. The same seed gives the same intervals.

    Raises:
        ValueError: an array is empty or not one-dimensional, they differ in length, there is NaN or
            infinity, an N below 1 or a throughput that is not positive, fewer than six distinct N,
            or two values of one block at one N.
    """
    return with_intervals(UslFit, solve(USL, observe(workers, throughput, blocks)), seed)


def fit_amdahl(
    workers: npt.ArrayLike,
    throughput: npt.ArrayLike,
    blocks: npt.ArrayLike | None = None,
    *,
    seed: int = SEED,
) -> AmdahlFit:
    """Fit Amdahl's law: `fit_usl` with beta = 0. Takes and raises the same."""
    return with_intervals(AmdahlFit, solve(AMDAHL, observe(workers, throughput, blocks)), seed)


def fit_linear(
    workers: npt.ArrayLike,
    throughput: npt.ArrayLike,
    blocks: npt.ArrayLike | None = None,
    *,
    seed: int = SEED,
) -> LinearFit:
    """Fit gamma N: `fit_usl` with alpha = beta = 0. Takes and raises the same."""
    return with_intervals(LinearFit, solve(LINEAR, observe(workers, throughput, blocks)), seed)


def with_intervals[T: Fit](kind: type[T], solution: Solution, seed: int) -> T:
    """A solution as a fit: in the caller's unit, with intervals."""
    seen, unit_per_s = solution.seen, solution.seen.unit_per_s
    resamples = resample(solution, np.random.default_rng(seed))
    gamma, alpha, beta = solution.all_three
    low, high = resamples.interval(np.transpose)
    low[0], high[0] = low[0] * unit_per_s, high[0] * unit_per_s
    ends = dict(
        zip(kind.law.parameters, zip(low.tolist(), high.tolist(), strict=True), strict=True)
    )
    if kind.law is USL:
        least, most = resamples.interval(lambda found: formula.peak(found[:, 1], found[:, 2]))
        ends["peak"] = float(least), float(most)
    return kind(
        gamma=gamma * unit_per_s,
        alpha=alpha,
        beta=beta,
        peak=float(formula.peak(np.array(alpha), np.array(beta))),
        intervals=ends,
        at_bound=solution.at_bound,
        points=len(seen.values),
        n_min=float(seen.workers[0]),
        n_max=float(seen.workers[-1]),
        residual_per_s=solution.residual * unit_per_s,
        r_squared=solution.r_squared,
        aicc=solution.aicc,
        method=resamples.method,
        resamples=resamples,
        unit_per_s=unit_per_s,
    )
