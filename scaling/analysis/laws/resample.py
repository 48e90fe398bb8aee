"""The bootstrap: resampled values, which show how much a fit varies.

With enough blocks, whole blocks are drawn with replacement. Otherwise the fit's own residuals are
drawn and added to it. That needs no repeated runs and includes what the law does not describe, but
assumes the same noise at every N.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri, stdtrit

from scaling.analysis.arrays import Floats
from scaling.analysis.laws.observations import Observations
from scaling.analysis.laws.solve import UPPER, Law, fit_many, slopes, throughput
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
        found = [of(group) for group in self.groups]
        low = [np.quantile(each, self.tail, axis=-1, method="lower") for each in found]
        high = [np.quantile(each, 1 - self.tail, axis=-1, method="higher") for each in found]
        return np.min(low, axis=0), np.max(high, axis=0)


def resample(
    law: Law, seen: Observations, parameters: Floats, rng: np.random.Generator
) -> Resamples:
    """Draw resamples of what was observed, and fit the law to each from its `parameters`."""
    grid = seen.grid
    if grid is not None and len(grid) >= FEWEST_FOR_INTERVAL:
        drawn = grid[rng.integers(0, len(grid), (RESAMPLES, len(grid)))]
        runs = pd.DataFrame(drawn.swapaxes(1, 2).reshape(-1, len(grid)))
        values = runs.median(axis=1).to_numpy().reshape(RESAMPLES, -1)  # NaN where an N has no run
        tail, method = _tail(len(grid)), f"bootstrap over {len(grid)} blocks"
    else:
        values = _thrown_back(law, seen, parameters, rng)
        tail, method = TAIL, "bootstrap of residuals"

    def refitted(absent: tuple[str, ...] = ()) -> Floats:
        return fit_many(law, seen.workers, values, parameters, absent)

    own = refitted()
    low, _ = Resamples((own[:, 1:],), tail, method).interval(np.transpose)  # not of gamma
    doubtful = [name for name, least in zip(law.parameters[1:], low, strict=True) if least <= 0]
    without = (each for count in range(len(doubtful)) for each in combinations(doubtful, count + 1))
    return Resamples((own, *map(refitted, without)), tail, method)


def _tail(blocks: int) -> float:
    """What to cut off so that few blocks do not make an interval too narrow.

    T. C. Hesterberg, What teachers should know about the bootstrap, The American Statistician 69
    (4), 2015, 371-386, 3.4.2: the expanded percentile interval.
    """
    return float(ndtr(stdtrit(blocks - 1, TAIL) * np.sqrt(blocks / (blocks - 1))))


def _thrown_back(
    law: Law, seen: Observations, parameters: Floats, rng: np.random.Generator
) -> Floats:
    """The fit plus its own residuals, drawn with replacement.

    A residual is smaller than the error behind it, since the fit leans towards the value: it is
    divided by the root of 1 - leverage (A. C. Davison, D. V. Hinkley, Bootstrap Methods and their
    Application (1997), 6.2.3 and 7.6). Few residuals say little about their spread: they are
    widened by the ratio of Student's t to the normal distribution.
    """
    fitted = throughput(seen.workers, parameters)
    inside = (parameters > 0) & (parameters < UPPER[: law.count])
    basis = np.linalg.qr(slopes(seen.workers, parameters)[:, inside])[0]
    leverage = np.minimum(np.sum(basis**2, axis=1), MOST_LEVERAGE)
    residuals = (seen.values - fitted) / np.sqrt(1 - leverage)
    wider = stdtrit(len(fitted) - law.count, TAIL) / ndtri(TAIL)
    drawn = rng.choice(residuals - residuals.mean(), (RESAMPLES, len(fitted)))
    return np.asarray(fitted + wider * drawn)
