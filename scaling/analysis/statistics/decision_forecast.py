"""How many blocks a study needs until a ratio that is inconclusive has a verdict.

The logarithm of a ratio scatters by s from block to block; of two studies, whose runs are not
paired, s² is the sum of both variances. A verdict needs two things: the t test at the level a of
its family, and the 95 % interval. With n blocks the mean has the variance s² / n, and what the
interval is around e s² / n: e is π / 2 for the median and π / 3 for the Hodges-Lehmann estimate
(E. L. Lehmann, Nonparametrics: Statistical Methods Based on Ranks (1975), 2.4, for normal values).
If the ratio is what was measured, at a distance d from the margin, each of the two finds it with
the probability `POWER` from this n on, with e = 1 for the test and a = 5 % for the interval:

    n = (z(1 - a/2) + z(POWER))² e s² / d² + z(1 - a/2)² / 4

The last term is for few blocks (W. C. Guenther, The American Statistician 35 (1981), 243). Within
the margin both sides have to be excluded, and each gets half of the chance to miss, which is more
than enough where the ratio is not in the middle. Scatter that is known from a few blocks makes this
a rough figure.
"""

import math
from statistics import NormalDist

from scaling.analysis.statistics.families import ERROR_RATE
from scaling.study.presets import FEWEST_FOR_INTERVAL

POWER = 0.8
OF_MEDIAN, OF_HODGES_LEHMANN = math.pi / 2, math.pi / 3


def blocks_to_decide(
    scatter: float, ratio: float, margin: float, level: float = ERROR_RATE, e: float = OF_MEDIAN
) -> float:
    """The blocks of a study (of each of two), at least six; `scatter` is s, `e` as above.

    Infinite for a ratio at the margin, which no number of blocks decides. NaN where the scatter is
    not known.
    """
    if math.isnan(scatter) or not ratio > 0:
        return math.nan
    at, edge = abs(math.log(ratio)), math.log1p(margin)
    distance = abs(at - edge)
    if not distance:
        return math.inf
    found = (1 + POWER) / 2 if at <= edge else POWER
    needed = (
        _blocks(part * scatter**2 / distance**2, 1 - alpha / 2, found)
        for part, alpha in ((1.0, level), (e, ERROR_RATE))
    )
    return max(FEWEST_FOR_INTERVAL, math.ceil(max(needed)))


def _blocks(variance: float, sure: float, found: float) -> float:
    z, z_found = map(NormalDist().inv_cdf, (sure, found))
    return variance * (z + z_found) ** 2 + z**2 / 4
