"""The bootstrap: resampled values, which show how much a fit varies.

With enough blocks, whole blocks are drawn with replacement. Otherwise the fit's own residuals are
drawn and added to it. That needs no repeated runs and includes what the law does not describe, but
assumes the same noise at every N.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from scaling.analysis.arrays import Floats
from scaling.analysis.laws.formula import UPPER, slopes, throughput
from scaling.analysis.laws.solution import Solution
from scaling.analysis.statistics.estimate import COVERAGE
from scaling.study.presets import FEWEST_FOR_INTERVAL

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
        ends = [_interval(of(group), self.tail) for group in self.groups]
        low, high = zip(*ends, strict=True)
        return np.min(low, axis=0), np.max(high, axis=0)


def resample(solution: Solution, rng: np.random.Generator) -> Resamples:
    """Draw resamples of what a solution was fitted to, and fit its law to each."""
    values, tail, method = _drawn(solution, rng)
    own = solution.again(values)
    low, _ = _interval(own.T, tail)
    doubtful = [
        name
        for name, least in zip(solution.law.parameters, low.tolist(), strict=True)
        if name != "gamma" and least <= 0
    ]
    without = chain.from_iterable(
        combinations(doubtful, count + 1) for count in range(len(doubtful))
    )
    groups = [own, *(solution.again(values, absent) for absent in without)]
    return Resamples(tuple(groups), tail, method)


def _drawn(solution: Solution, rng: np.random.Generator) -> tuple[Floats, float, str]:
    """Values (R, K), the share to cut from each tail of what is fitted to them, and the method."""
    grid = solution.seen.grid
    if grid is not None and len(grid) >= FEWEST_FOR_INTERVAL:
        drawn = rng.integers(0, len(grid), (RESAMPLES, len(grid)))
        return _medians(grid[drawn]), _tail(len(grid)), f"bootstrap over {len(grid)} blocks"
    return _thrown_back(solution, rng), TAIL, "bootstrap of residuals"


def _interval(found: Floats, tail: float) -> tuple[Floats, Floats]:
    low = np.quantile(found, tail, axis=-1, method="lower")
    high = np.quantile(found, 1 - tail, axis=-1, method="higher")
    return np.asarray(low), np.asarray(high)


def _tail(blocks: int) -> float:
    """What to cut off so that few blocks do not make an interval too narrow.

    T. C. Hesterberg, What teachers should know about the bootstrap, The American Statistician 69
    (4), 2015, 371-386, 3.4.2: the expanded percentile interval.
    """
    return float(ndtr(stdtrit(blocks - 1, TAIL) * np.sqrt(blocks / (blocks - 1))))


def _medians(drawn: Floats) -> Floats:
    """Medians over the middle axis, NaN where a resample has no value at some N."""
    if np.isfinite(drawn).all():  # numpy's that minds NaN is slow, and seldom needed
        return np.asarray(np.median(drawn, axis=1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # all-NaN: what the docstring says
        return np.asarray(np.nanmedian(drawn, axis=1))


def _thrown_back(solution: Solution, rng: np.random.Generator) -> Floats:
    """The fit plus its own residuals, drawn with replacement.

    A residual is smaller than the error behind it, since the fit leans towards the value: it is
    divided by the root of 1 - leverage (A. C. Davison, D. V. Hinkley, Bootstrap Methods and their
    Application (1997), 6.2.3 and 7.6). Few residuals say little about their spread: they are
    widened by the ratio of Student's t to the normal distribution.
    """
    law, seen, parameters = solution.law, solution.seen, solution.parameters
    fitted = throughput(seen.workers, parameters)
    inside = (parameters > 0) & (parameters < UPPER[: law.count])
    basis = np.linalg.qr(slopes(seen.workers, parameters)[:, inside])[0]
    leverage = np.minimum(np.einsum("kp,kp->k", basis, basis), MOST_LEVERAGE)
    residuals = (seen.values - fitted) / np.sqrt(1 - leverage)
    degrees = len(fitted) - law.count
    wider = stdtrit(degrees, TAIL) / ndtri(TAIL)
    drawn = rng.choice(residuals - residuals.mean(), (RESAMPLES, len(fitted)))
    return np.asarray(fitted + wider * drawn)
