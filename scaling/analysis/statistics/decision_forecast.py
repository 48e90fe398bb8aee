"""How many blocks two studies need until the ratio between them has a verdict.

The Hodges-Lehmann estimate of a ratio (`scaling.analysis.statistics.unpaired`) of two studies of n
blocks has on a log scale the variance (π / 3) (s² + t²) / n, where s and t are the standard
deviations of the logarithms of their runs (E. L. Lehmann, Nonparametrics: Statistical Methods Based
on Ranks (1975), 2.4, for normal values). If the ratio is what was measured, at a distance d from
the margin, a test at a level a finds it with the probability `POWER` from this n on:

    n = (z(1 - a/2) + z(POWER))² (π / 3) (s² + t²) / d² + z(1 - a/2)² / 4

The last term is for few blocks (W. C. Guenther, The American Statistician 35 (1981), 243). Within
the margin both sides have to be excluded, and each gets half of the chance to miss, which is more
than enough where the ratio is not in the middle. Scatter that is known from a few blocks makes this
a rough figure.
"""

import math
from statistics import NormalDist

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.statistics.verdict import ERROR_RATE, WIDEST_SAME
from scaling.study.presets import FEWEST_FOR_INTERVAL

POWER = 0.8


def blocks_to_decide(
    ours: Floats, theirs: Floats, ratio: float, margin: float, level: float = ERROR_RATE
) -> float:
    """The blocks of each of two studies, whose runs are `ours` and `theirs`, at least six.

    Infinite where no number of blocks decides it: a ratio at the margin, or inside one that is too
    wide to call anything the same. NaN where the scatter is not known.
    """
    sides = [np.log(side[np.isfinite(side) & (side > 0)]) for side in (ours, theirs)]
    if min(map(len, sides)) < 2 or not ratio > 0:
        return math.nan
    variance = math.pi / 3 * sum(float(np.var(side, ddof=1)) for side in sides)
    at, edge = abs(math.log(ratio)), math.log1p(margin)
    is_inside = at <= edge
    distance = abs(at - edge)
    if not distance or (is_inside and margin > WIDEST_SAME):
        return math.inf
    found = (1 + POWER) / 2 if is_inside else POWER
    z, z_found = map(NormalDist().inv_cdf, (1 - level / 2, found))
    blocks = variance * ((z + z_found) / distance) ** 2 + z**2 / 4
    return max(FEWEST_FOR_INTERVAL, math.ceil(blocks))
