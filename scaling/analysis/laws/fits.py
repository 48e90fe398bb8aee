"""Fits of the laws: parameters with intervals, what a law says of other Ns, and which to choose."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from scaling.analysis.arrays import Floats
from scaling.analysis.laws.observations import Observations, at_least_one, observe
from scaling.analysis.laws.resample import Resamples, resample
from scaling.analysis.laws.solve import AMDAHL, LAWS, LINEAR, UPPER, USL, Law, fit_one, throughput
from scaling.analysis.statistics.estimate import COVERAGE, Estimate

SEED = 1
EXACT = 1e-6  # of the throughput: no measurement is as good, so nearer fits are equally good


class Fit:
    """A law fitted to observations. Its parameters are floats, with 95 % intervals in `intervals`.

    `gamma` is in operations/s, `alpha` and `beta` are pure numbers, 0 where the law does not have
    them. The intervals are bootstrapped when they are first asked for.
    """

    def __init__(self, law: Law, seen: Observations, seed: int) -> None:
        self.law = law
        self.seen = seen
        self._seed = seed
        self._found = fit_one(law, seen.workers, seen.values)
        left = throughput(seen.workers, self._found) - seen.values
        self._squares = float(left @ left)
        gamma, self.alpha, self.beta = [*map(float, self._found), 0.0, 0.0][:3]
        self.gamma = gamma * seen.unit_per_s

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
        n, k = len(self.seen.values), self.law.count + 1
        spread = max(self._squares / n, EXACT**2 * float(np.mean(self.seen.values**2)))
        return n * math.log(spread) + 2 * k + 2 * k * (k + 1) / (n - k - 1)

    @cached_property
    def resamples(self) -> Resamples:
        """What the intervals are made of."""
        return resample(self.law, self.seen, self._found, np.random.default_rng(self._seed))

    @property
    def method(self) -> str:
        """How the intervals are made."""
        return self.resamples.method

    @cached_property
    def intervals(self) -> Mapping[str, tuple[float, float]]:
        """The interval of each parameter and, of the Universal Scalability Law, of its peak."""
        low, high = self.resamples.interval(np.transpose)
        low[0], high[0] = low[0] * self.seen.unit_per_s, high[0] * self.seen.unit_per_s
        ends = zip(low.tolist(), high.tolist(), strict=True)
        found = dict(zip(self.law.parameters, ends, strict=True))
        if self.law is USL:
            least, most = self.resamples.interval(lambda each: _peaks(each[:, 1], each[:, 2]))
            found["peak"] = float(least), float(most)
        return found

    def estimate(self, name: str) -> Estimate:
        """`gamma`, `alpha`, `beta` or `peak` with its interval, for tables."""
        point, unit = getattr(self, name), "operations/s" if name == "gamma" else ""
        ends, n = self.intervals[name], len(self.seen.values)
        return Estimate(point, *ends, unit, n, self.method, coverage=COVERAGE)

    def predict(self, n: npt.ArrayLike) -> Floats:
        """Operations/s of `n` workers, in the shape of `n` (a number or an array of any shape).

        Raises:
            ValueError: NaN or infinity, or an N below 1.
        """
        return self._at(n, self._found[None])[..., 0] * self.seen.unit_per_s

    def band(self, n: npt.ArrayLike) -> tuple[Floats, Floats]:
        """The 95 % interval of the law at `n`: low and high, each in the shape of `n`.

        It is about the law, not about single runs, and holds at each N by itself.

        Raises:
            ValueError: NaN or infinity, or an N below 1.
        """
        low, high = self.resamples.interval(lambda parameters: self._at(n, parameters))
        return low * self.seen.unit_per_s, high * self.seen.unit_per_s

    def _at(self, n: npt.ArrayLike, parameters: Floats) -> Floats:
        """What each row of parameters says: the shape of `n`, then rows."""
        ns = np.asarray(n, dtype=np.float64)
        if not np.isfinite(ns).all():
            raise ValueError("n has NaN or infinity in it")
        at_least_one(ns)
        return throughput(ns.ravel(), parameters).T.reshape(*ns.shape, len(parameters))


def fit_usl(
    workers: npt.ArrayLike,
    throughput: npt.ArrayLike,
    blocks: npt.ArrayLike | None = None,
    *,
    seed: int = SEED,
    law: Law = USL,
) -> Fit:
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
        law: one with fewer parameters: `fit_amdahl` holds beta at 0, `fit_linear` alpha as well.

    Raises:
        ValueError: an array is empty or not one-dimensional, they differ in length, there is NaN or
            infinity, an N below 1 or a throughput that is not positive, fewer than six distinct N,
            or two values of one block at one N.
    """
    return Fit(law, observe(workers, throughput, blocks), seed)


fit_amdahl = partial(fit_usl, law=AMDAHL)
fit_linear = partial(fit_usl, law=LINEAR)


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """The law with the lowest AICc, fitted.

    `weights` are Akaike weights, which add up to 1: how much of the evidence is for each law. A
    chosen law with little more than another is a description, and no discovery.
    """

    fit: Fit
    weights: Mapping[str, float]


def choose(
    workers: npt.ArrayLike,
    throughput: npt.ArrayLike,
    blocks: npt.ArrayLike | None = None,
    *,
    seed: int = SEED,
) -> Choice:
    """Fit all three laws and take the one with the lowest AICc; the simpler one of equals.

    With six values the Universal Scalability Law is charged 30 points more than Amdahl's and 40
    more than the line: it is taken only if it leaves less than a hundredth of their squares.
    With ten the charges are 6 and 10. Noise alone makes Amdahl's law of a line, or USL of Amdahl's
    law, in about one case of twenty.

    Takes and raises what `fit_usl` does; `blocks` make the values medians, one for each N.
    """
    seen = observe(workers, throughput, blocks)
    fits = [Fit(law, seen, seed) for law in LAWS]
    aicc = np.array([fit.aicc for fit in fits])
    likely = np.exp((aicc.min() - aicc) / 2)
    weights = (likely / likely.sum()).tolist()
    names = (law.name for law in LAWS)
    return Choice(fits[int(np.argmin(aicc.round(6)))], dict(zip(names, weights, strict=True)))


def _peaks(alpha: Floats, beta: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(beta > 0, np.sqrt((1 - alpha) / beta), np.inf)
