"""The serial fraction that a measured speed-up amounts to: for points too few to fit a law to."""

import numpy as np
import numpy.typing as npt

from scaling.analysis.arrays import Floats
from scaling.analysis.laws.observations import at_least_one, finite, same_length


def karp_flatt(workers: npt.ArrayLike, speedup: npt.ArrayLike) -> Floats:
    """The experimentally determined serial fraction of each point, (K,).

        e = (1 / speedup - 1 / N) / (1 - 1 / N)

    A. H. Karp, H. P. Flatt, Measuring parallel processor performance, Communications of the ACM 33
    (5), 1990, 539-543. If it rises with N, something besides a serial part holds the workers up;
    below 0 the speed-up is more than N. It is NaN at N = 1, where it says nothing.

    Args:
        workers: N of each point, (K,), in any order, 1 or more.
        speedup: throughput over that of one worker, (K,), positive.

    Raises:
        ValueError: an array is empty or not one-dimensional, they differ in length, there is NaN or
            infinity, an N below 1 or a speed-up that is not positive.
    """
    ns, gained = finite(workers, "workers"), finite(speedup, "speedup")
    same_length(("workers", ns), ("speedup", gained))
    at_least_one(ns)
    if (gained <= 0).any():
        raise ValueError(f"speedup must be positive; {gained.min():g} is among it")
    with np.errstate(divide="ignore", invalid="ignore"):
        fraction = (1 / gained - 1 / ns) / (1 - 1 / ns)
    return np.where(ns > 1, fraction, np.nan)
