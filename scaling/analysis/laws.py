"""Laws of scaling: what a curve follows inside a topology region, or why nothing can be fitted.

All three are the Universal Scalability Law (N. J. Gunther, Guerrilla Capacity Planning, Springer
2007, eq. 4.31) with some of its parameters held at 0:

    X(N) = gamma N / (1 + alpha (N - 1) + beta N (N - 1))

`gamma` is the throughput of one worker, `alpha` the contention (the share of the work that only one
can do at a time), `beta` the coherency (what each pair of workers costs). With beta = 0 it is the
law of G. M. Amdahl (AFIPS 30, 1967, 483-485), with alpha = 0 as well the line gamma N.

`fit = Fit(USL, workers, runs)` has `fit.alpha`, `fit.beta`, `fit.gamma`, `fit.peak`,
`fit.predict(12)`, `fit.band(12)` and `fit.intervals["alpha"]`.

Parameters are arrays (..., P), in the order of `PARAMETERS` and as many of them as a law has.
An interval takes a thousand fits of nearly the same values. `scipy.optimize.least_squares` does
them one by one, in 0.8 ms each or a second or more for an interval; here they are done together.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations, groupby, product

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import ndtr, ndtri, stdtrit

from scaling.analysis.arrays import Floats
from scaling.analysis.curves import Curve
from scaling.analysis.statistics.estimate import COVERAGE, Estimate, median
from scaling.study.presets import FEWEST_FOR_INTERVAL

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


# --------------------------------------------------------------------------------------------- fits
# Parameters with intervals, what a law says of other Ns, and which to choose.
#
# Intervals are bootstrapped. With enough blocks, whole blocks are drawn with replacement. Otherwise
# the fit's own residuals are drawn and added to it. That needs no repeated runs and includes what
# the law does not describe, but assumes the same noise at every N.

FEWEST_N = 6
"""Distinct Ns that a law needs. Three parameters and the spread leave two to spare, and AICc of the
largest law exists from here on: its last term divides by n - 5."""

SEED = 1  # of the bootstrap: the same runs have the same intervals
EXACT = 1e-6  # of the throughput: no measurement is as good, so nearer fits are equally good
RESAMPLES = 1000
TAIL = (1 - COVERAGE) / 2
MOST_LEVERAGE = 0.95  # a value that decides the fit all by itself has no residual to speak of


class Fit:
    """A law fitted to medians. Its parameters are floats, with 95 % intervals in `intervals`.

    `gamma` is in operations/s, `alpha` and `beta` are pure numbers, 0 where the law does not have
    them. Of all gamma > 0, 0 ≤ alpha ≤ 1 and 0 ≤ beta ≤ 1 these are the ones with the smallest sum
    of squared differences in throughput, as in Gunther's book and in R's package usl. The intervals
    are bootstrapped when they are first asked for.
    """

    def __init__(self, law: Law, workers: Floats, runs: Floats) -> None:
        """`workers` (K,) are distinct, in order, `FEWEST_N` or more.

        `runs` (blocks, K) are operations/s: positive, NaN where one is missing, with one or more in
        each row and column.
        """
        self.law = law
        self._workers = workers
        # The highest throughput is the unit: a fit does not depend on what an operation is.
        self._unit_per_s = float(np.nanmax(runs))
        self._runs = runs / self._unit_per_s
        self._values = np.nanmedian(self._runs, axis=0)
        self._found = fit_one(law, workers, self._values)
        gamma, self.alpha, self.beta = [*map(float, self._found), 0.0, 0.0][:3]
        self.gamma = gamma * self._unit_per_s

    @property
    def peak(self) -> float:
        """The N with the highest throughput: inf where no N is (beta is 0).

        Below 1, a second worker already is one too many.
        """
        return float(_peaks(np.array([self.alpha]), np.array([self.beta]))[0])

    @property
    def at_bound(self) -> tuple[str, ...]:
        """The parameters that the data would push out of bounds.

        Their values are the bound and no measurement. A fit with any describes the points and
        explains nothing.
        """
        there = (self._found <= 0) | (self._found >= UPPER[: self.law.count])
        return tuple(name for name, yes in zip(self.law.parameters, there, strict=True) if yes)

    @property
    def aicc(self) -> float:
        """Akaike's criterion, corrected for few values: the lower the better.

            n ln(S / n) + 2 k + 2 k (k + 1) / (n - k - 1)

        S is the sum of squares over the n values, k the law's parameters and one for their spread:
        C. M. Hurvich, C.-L. Tsai, Biometrika 76 (2), 1989, 297-307; K. P. Burnham, D. R. Anderson,
        Model Selection and Multimodel Inference, 2nd ed. (2002), 2.4. It takes noise to be the same
        at every N, as least squares do.
        """
        n, k = len(self._values), self.law.count + 1
        left = throughput(self._workers, self._found) - self._values
        spread = max(float(left @ left) / n, EXACT**2 * float(np.mean(self._values**2)))
        return n * math.log(spread) + 2 * k + 2 * k * (k + 1) / (n - k - 1)

    @cached_property
    def resamples(self) -> tuple[Floats, ...]:
        """What the intervals are made of: groups of (R, P), each refitted to R resamples of what
        might have been seen.

        The first group is of the law itself. Where its interval for alpha or beta reaches 0, the
        law without that parameter is as likely, and a further group has refits of that law: refits
        that stop at a bound half of the time understate how much the other parameters vary (D. W.
        K. Andrews, Econometrica 68 (2), 2000, 399-405).
        """
        law, runs, blocks = self.law, self._runs, len(self._runs)
        rng = np.random.default_rng(SEED)
        if self._by_blocks:
            drawn = runs[rng.integers(0, blocks, (RESAMPLES, blocks))]
            rows = pd.DataFrame(drawn.swapaxes(1, 2).reshape(-1, blocks))
            values = rows.median(axis=1).to_numpy().reshape(RESAMPLES, -1)  # NaN: an N has no run
        else:
            values = self._thrown_back(rng)

        def refitted(absent: tuple[str, ...] = ()) -> Floats:
            return fit_many(law, self._workers, values, self._found, absent)

        own = refitted()
        low, _ = self._interval([own[:, 1:]], np.transpose)  # not of gamma
        doubtful = [name for name, least in zip(law.parameters[1:], low, strict=True) if least <= 0]
        counts = range(1, len(doubtful) + 1)
        without = (each for count in counts for each in combinations(doubtful, count))
        return (own, *map(refitted, without))

    def _thrown_back(self, rng: np.random.Generator) -> Floats:
        """The fit plus its own residuals, drawn with replacement.

        A residual is smaller than the error behind it, since the fit leans towards the value: it is
        divided by the root of 1 - leverage (A. C. Davison, D. V. Hinkley, Bootstrap Methods and
        their Application (1997), 6.2.3 and 7.6). Few residuals say little about their spread: they
        are widened by the ratio of Student's t to the normal distribution.
        """
        fitted = throughput(self._workers, self._found)
        inside = (self._found > 0) & (self._found < UPPER[: self.law.count])
        basis = np.linalg.qr(slopes(self._workers, self._found)[:, inside])[0]
        leverage = np.minimum(np.sum(basis**2, axis=1), MOST_LEVERAGE)
        residuals = (self._values - fitted) / np.sqrt(1 - leverage)
        wider = stdtrit(len(fitted) - self.law.count, TAIL) / ndtri(TAIL)
        drawn = rng.choice(residuals - residuals.mean(), (RESAMPLES, len(fitted)))
        return np.asarray(fitted + wider * drawn)

    def _interval(
        self, groups: Sequence[Floats], of: Callable[[Floats], Floats]
    ) -> tuple[Floats, Floats]:
        """Low and high of what `of` makes of parameters (R, P), an array with R as its last axis:
        what the intervals of all groups cover together.

        Both are among the values found, which may be infinite.
        """
        found = [of(group) for group in groups]
        low = [np.quantile(each, self._tail, axis=-1, method="lower") for each in found]
        high = [np.quantile(each, 1 - self._tail, axis=-1, method="higher") for each in found]
        return np.min(low, axis=0), np.max(high, axis=0)

    @property
    def _tail(self) -> float:
        """What to cut off so that few blocks do not make an interval too narrow.

        T. C. Hesterberg, What teachers should know about the bootstrap, The American Statistician
        69 (4), 2015, 371-386, 3.4.2: the expanded percentile interval.
        """
        blocks = len(self._runs)
        if not self._by_blocks:
            return TAIL
        return float(ndtr(stdtrit(blocks - 1, TAIL) * np.sqrt(blocks / (blocks - 1))))

    @property
    def _by_blocks(self) -> bool:
        """Whether whole blocks are drawn."""
        return len(self._runs) >= FEWEST_FOR_INTERVAL

    @property
    def method(self) -> str:
        """How the intervals are made."""
        drawn = f"over {len(self._runs)} blocks" if self._by_blocks else "of residuals"
        return f"bootstrap {drawn}"

    @cached_property
    def intervals(self) -> Mapping[str, tuple[float, float]]:
        """The interval of each parameter and, of the Universal Scalability Law, of its peak."""
        low, high = self._interval(self.resamples, np.transpose)
        low[0], high[0] = low[0] * self._unit_per_s, high[0] * self._unit_per_s
        ends = zip(low.tolist(), high.tolist(), strict=True)
        found = dict(zip(self.law.parameters, ends, strict=True))
        if self.law is USL:
            least, most = self._interval(
                self.resamples, lambda each: _peaks(each[:, 1], each[:, 2])
            )
            found["peak"] = float(least), float(most)
        return found

    def estimate(self, name: str) -> Estimate:
        """`gamma`, `alpha`, `beta` or `peak` with its interval, for tables."""
        point, unit = getattr(self, name), "operations/s" if name == "gamma" else ""
        ends, n = self.intervals[name], len(self._values)
        return Estimate(point, *ends, unit, n, self.method, coverage=COVERAGE)

    def predict(self, n: npt.ArrayLike) -> Floats:
        """Operations/s of `n` workers, in the shape of `n` (a number or an array of any shape).

        Raises:
            ValueError: NaN or infinity, or an N below 1.
        """
        return self._at(n, self._found[None])[..., 0] * self._unit_per_s

    def band(self, n: npt.ArrayLike) -> tuple[Floats, Floats]:
        """The 95 % interval of the law at `n`: low and high, each in the shape of `n`.

        It is about the law, not about single runs, and holds at each N by itself.

        Raises:
            ValueError: NaN or infinity, or an N below 1.
        """
        low, high = self._interval(self.resamples, lambda parameters: self._at(n, parameters))
        return low * self._unit_per_s, high * self._unit_per_s

    def _at(self, n: npt.ArrayLike, parameters: Floats) -> Floats:
        """What each row of parameters says: the shape of `n`, then rows."""
        ns = np.asarray(n, dtype=np.float64)
        if not np.isfinite(ns).all():
            raise ValueError("n has NaN or infinity in it")
        if (ns < 1).any():
            raise ValueError(f"workers must be 1 or more; {ns.min():g} is among them")
        return throughput(ns.ravel(), parameters).T.reshape(*ns.shape, len(parameters))


def choose(workers: Floats, runs: Floats) -> tuple[Fit, Mapping[str, float]]:
    """Fit all three laws and take the one with the lowest AICc; the simpler one of equals.

    Akaike weights stand beside it by the law's name. They add up to 1: how much of the evidence is
    for each law. A chosen law with little more than another is a description, and no discovery.

    With six values the Universal Scalability Law is charged 30 points more than Amdahl's and 40
    more than the line: it is taken only if it leaves less than a hundredth of their squares.
    With ten the charges are 6 and 10. Noise alone makes Amdahl's law of a line, or USL of Amdahl's
    law, in about one case of twenty. Takes what `Fit` does.
    """
    fits = [Fit(law, workers, runs) for law in LAWS]
    aicc = np.array([fit.aicc for fit in fits])
    likely = np.exp((aicc.min() - aicc) / 2)
    weights = (likely / likely.sum()).tolist()
    names = (law.name for law in LAWS)
    return fits[int(np.argmin(aicc.round(6)))], dict(zip(names, weights, strict=True))


def _peaks(alpha: Floats, beta: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(beta > 0, np.sqrt((1 - alpha) / beta), np.inf)


# ------------------------------------------------------------------------------------------ regions
# A curve bends where the hardware does, so a law is fitted to the points of one region only, to the
# medians that the tables show. Where they are too few, the serial fraction of Karp and Flatt says
# what the speed-up at each N amounts to.

TOO_FEW = "not fitted: too few points"
NO_REGION = "not fitted: what the machine's CPUs share is not known"


@dataclass(frozen=True, slots=True)
class RegionLaw:
    """The points of a curve inside one region, and the law chosen for them, if there is one.

    `weight` is the Akaike weight of that law, `why` is empty where one was fitted.
    `serial_fractions` has an estimate for each N above 1; it rests on N = 1, so that only the
    region with N = 1 in it has any.
    """

    curve: Curve
    region: str | None
    workers: tuple[int, ...]
    fit: Fit | None
    weight: float
    why: str
    serial_fractions: dict[int, Estimate]


def region_laws(curve: Curve) -> list[RegionLaw]:
    """One for each region that has a valid run of the curve, in order of N."""
    measured = [(each.region, each.workers) for each in curve.points if each.throughput.point > 0]
    regions = groupby(measured, lambda each: each[0])
    return [_law(curve, name, tuple(n for _, n in found)) for name, found in regions]


def _law(curve: Curve, region: str | None, workers: tuple[int, ...]) -> RegionLaw:
    columns = [curve.workers.index(n) for n in workers]
    why = NO_REGION if region is None else TOO_FEW if len(workers) < FEWEST_N else ""
    grid = np.ascontiguousarray(curve.values["throughput"][:, columns])
    fit: Fit | None = None
    weight = math.nan
    if not why:
        fit, weights = _chosen(workers, grid.tobytes())
        weight = weights[fit.law.name]
    speedups = zip(workers, curve.values["speedup"][:, columns].T, strict=True)
    fractions = {n: _serial(n, found) for n, found in speedups if 1 in workers and n > 1}
    return RegionLaw(curve, region, workers, fit, weight, why, fractions)


@lru_cache(maxsize=1024)
def _chosen(workers: tuple[int, ...], runs: bytes) -> tuple[Fit, Mapping[str, float]]:
    """The choice for runs (blocks × N); tables, CSV and plots of a study ask for the same ones."""
    grid = np.frombuffer(runs).reshape(-1, len(workers))
    known = grid > 0  # NaN is not
    return choose(np.array(workers, float), np.where(known, grid, np.nan)[known.any(axis=1)])


def _serial(n: int, speedups: Floats) -> Estimate:
    known = speedups[np.isfinite(speedups) & (speedups > 0)]
    return median(karp_flatt(n, known), "")


def karp_flatt(n: int | Floats, speedup: Floats) -> Floats:
    """The experimentally determined serial fraction at `n` workers, in the shape of `speedup`.

        e = (1 / speedup - 1 / N) / (1 - 1 / N)

    A. H. Karp, H. P. Flatt, Measuring parallel processor performance, Communications of the ACM 33
    (5), 1990, 539-543. `speedup` is throughput over that of one worker, positive, `n` 2 or more. If
    it rises with N, something besides a serial part holds the workers up; below 0 the speed-up is
    more than N.
    """
    return np.asarray((1 / speedup - 1 / n) / (1 - 1 / n))
