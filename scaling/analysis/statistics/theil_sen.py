"""The Theil–Sen slope and its interval, after P. K. Sen, JASA 63 (1968), 1379–1389, equation 2.6.

`scipy.stats.theilslopes` gives the same, but `scipy.stats` takes a third of a second to import.
"""

import numpy as np

from scaling.analysis.arrays import Floats


def theil_sen(x: Floats, y: Floats, coverage: float) -> Floats:
    """Slope of `y` over `x`, its lower and its upper bound; shapes in: (points,), out: (3,).

    `x` must have two values that differ.
    """
    from scipy.special import ndtri  # slow to import

    one, other = np.triu_indices(len(x), 1)
    rises, runs = y[one] - y[other], x[one] - x[other]
    slopes = np.sort(rises[runs != 0] / runs[runs != 0])
    ties = (np.unique(values, return_counts=True)[1] for values in (x, y))
    variance = (_variation(np.array(len(x))) - sum(_variation(tied) for tied in ties)) / 18
    reach = float(ndtri((1 + coverage) / 2)) * np.sqrt(max(variance, 0))
    low = max(round((len(slopes) - reach) / 2) - 1, 0)
    high = min(round((len(slopes) + reach) / 2), len(slopes) - 1)
    return np.array([np.median(slopes), slopes[low], slopes[high]])


def _variation(counts: np.typing.NDArray[np.int64]) -> int:
    return int((counts * (counts - 1) * (2 * counts + 5)).sum())
