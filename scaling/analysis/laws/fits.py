"""Fits of the laws: parameters with intervals, what a law says of other Ns, and which to choose.

`fit = Fit(USL, workers, runs)` has `fit.alpha`, `fit.beta`, `fit.gamma`, `fit.peak`,
`fit.predict(12)`, `fit.band(12)` and `fit.intervals["alpha"]`.

Intervals are bootstrapped. With enough blocks, whole blocks are drawn with replacement. Otherwise
the fit's own residuals are drawn and added to it. That needs no repeated runs and includes what the
law does not describe, but assumes the same noise at every N.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import ndtr, ndtri, stdtrit

from scaling.analysis.arrays import Floats
from scaling.analysis.laws.solve import (
    LAWS,
    UPPER,
    USL,
    Law,
    fit_many,
    fit_one,
    slopes,
    throughput,
)
from scaling.analysis.statistics.estimate import COVERAGE, Estimate
from scaling.study.presets import FEWEST_FOR_INTERVAL

FEWEST_N = 6
"""Distinct Ns that a law needs. Three parameters and the spread leave two to spare, and AICc of the
largest law exists from here on: its last term divides by n - 5."""

SEED = 1  # of the bootstrap: the same runs have the same intervals
EXACT = 1e-6  # of the throughput: no measurement is as good, so nearer fits are equally good
RESAMPLES = 1000
TAIL = (1 - COVERAGE) / 2
MOST_LEVERAGE = 0.95  # a value that decides the fit all by itself has no residual to speak of


@dataclass(frozen=True, slots=True, eq=False)
class Resamples:
    """Resampled parameters: groups of (R, P), each refitted to R resamples.

    The first group is of the law itself. Where its interval for alpha or beta reaches 0, the law
    without that parameter is as likely, and a further group has refits of that law: refits that
    stop at a bound half of the time understate how much the other parameters vary (D. W. K.
    Andrews, Econometrica 68 (2), 2000, 399-405). An interval is what those of all groups cover
    together.
    """

    groups: tuple[Floats, ...]
    tail: float
    method: str

    def interval(self, of: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
        """Low and high of what `of` makes of parameters (R, P): an array with R as its last axis.

        Both are among the values found, which may be infinite.
        """
        found = [of(group) for group in self.groups]
        low = [np.quantile(each, self.tail, axis=-1, method="lower") for each in found]
        high = [np.quantile(each, 1 - self.tail, axis=-1, method="higher") for each in found]
        return np.min(low, axis=0), np.max(high, axis=0)


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
    def resamples(self) -> Resamples:
        """What the intervals are made of: the law fitted again to what might have been seen."""
        law, runs, blocks = self.law, self._runs, len(self._runs)
        rng = np.random.default_rng(SEED)
        if blocks >= FEWEST_FOR_INTERVAL:
            drawn = runs[rng.integers(0, blocks, (RESAMPLES, blocks))]
            rows = pd.DataFrame(drawn.swapaxes(1, 2).reshape(-1, blocks))
            values = rows.median(axis=1).to_numpy().reshape(RESAMPLES, -1)  # NaN: an N has no run
            tail, method = _tail(blocks), f"bootstrap over {blocks} blocks"
        else:
            values = self._thrown_back(rng)
            tail, method = TAIL, "bootstrap of residuals"

        def refitted(absent: tuple[str, ...] = ()) -> Floats:
            return fit_many(law, self._workers, values, self._found, absent)

        own = refitted()
        low, _ = Resamples((own[:, 1:],), tail, method).interval(np.transpose)  # not of gamma
        doubtful = [name for name, least in zip(law.parameters[1:], low, strict=True) if least <= 0]
        counts = range(1, len(doubtful) + 1)
        without = (each for count in counts for each in combinations(doubtful, count))
        return Resamples((own, *map(refitted, without)), tail, method)

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

    @property
    def method(self) -> str:
        """How the intervals are made."""
        return self.resamples.method

    @cached_property
    def intervals(self) -> Mapping[str, tuple[float, float]]:
        """The interval of each parameter and, of the Universal Scalability Law, of its peak."""
        low, high = self.resamples.interval(np.transpose)
        low[0], high[0] = low[0] * self._unit_per_s, high[0] * self._unit_per_s
        ends = zip(low.tolist(), high.tolist(), strict=True)
        found = dict(zip(self.law.parameters, ends, strict=True))
        if self.law is USL:
            least, most = self.resamples.interval(lambda each: _peaks(each[:, 1], each[:, 2]))
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
        low, high = self.resamples.interval(lambda parameters: self._at(n, parameters))
        return low * self._unit_per_s, high * self._unit_per_s

    def _at(self, n: npt.ArrayLike, parameters: Floats) -> Floats:
        """What each row of parameters says: the shape of `n`, then rows."""
        ns = np.asarray(n, dtype=np.float64)
        if not np.isfinite(ns).all():
            raise ValueError("n has NaN or infinity in it")
        if (ns < 1).any():
            raise ValueError(f"workers must be 1 or more; {ns.min():g} is among them")
        return throughput(ns.ravel(), parameters).T.reshape(*ns.shape, len(parameters))


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """The law with the lowest AICc, fitted.

    `weights` are Akaike weights, which add up to 1: how much of the evidence is for each law. A
    chosen law with little more than another is a description, and no discovery.
    """

    fit: Fit
    weights: Mapping[str, float]


def choose(workers: Floats, runs: Floats) -> Choice:
    """Fit all three laws and take the one with the lowest AICc; the simpler one of equals.

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
    return Choice(fits[int(np.argmin(aicc.round(6)))], dict(zip(names, weights, strict=True)))


def _peaks(alpha: Floats, beta: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(beta > 0, np.sqrt((1 - alpha) / beta), np.inf)


def _tail(blocks: int) -> float:
    """What to cut off so that few blocks do not make an interval too narrow.

    T. C. Hesterberg, What teachers should know about the bootstrap, The American Statistician 69
    (4), 2015, 371-386, 3.4.2: the expanded percentile interval.
    """
    return float(ndtr(stdtrit(blocks - 1, TAIL) * np.sqrt(blocks / (blocks - 1))))
