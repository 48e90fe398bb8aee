"""Where latency crosses an objective over the rates of one block.

Latency rises with the rate, but single runs scatter, so a monotone fit comes first: isotonic
regression (the pool-adjacent-violators algorithm) of the logarithm of the percentile over the
rates. Between the last rate whose fit is within the objective and the first whose is not, the
logarithm of the rate is interpolated. The highest rate of a single run that passed would
favour lucky runs.
"""

from typing import Literal, NamedTuple

import numpy as np

from scaling.analysis.arrays import Flags, Floats

type Side = Literal["inside", "above", "below"]


class Crossing(NamedTuple):
    """A rate, and whether it is `inside` the grid; else it is the grid's end, and a bound.

    `above`: the objective holds at every rate, so capacity is at least the highest. `below`: it
    holds at none, so capacity is less than the lowest.
    """

    rate_per_s: float
    side: Side


def crossing(rates_per_s: Floats, latencies_s: Floats, sound: Flags, limit_s: float) -> Crossing:
    """The rate up to which the objective holds: latency within `limit_s`, and every run `sound`.

    Arrays are of shape (rates,), the rates ascending; a run is sound without errors and backlog.
    Where an unsound run comes before the crossing, the rate before that run is the capacity.

    Raises:
        ValueError: there is no rate.
    """
    from scipy.optimize import isotonic_regression  # takes longer to import than a plan to make

    if not len(rates_per_s):
        raise ValueError("a capacity needs a rate")
    fit, limit = isotonic_regression(np.log(latencies_s)).x, np.log(limit_s)
    count = len(rates_per_s)
    slow = int(np.searchsorted(fit, limit, side="right"))  # the first rate beyond the objective
    unsound = count if sound.all() else int(np.argmin(sound))
    if min(slow, unsound) == 0:
        return Crossing(float(rates_per_s[0]), "below")
    if min(slow, unsound) == count:
        return Crossing(float(rates_per_s[-1]), "above")
    if unsound < slow:
        return Crossing(float(rates_per_s[unsound - 1]), "inside")
    part = (limit - fit[slow - 1]) / (fit[slow] - fit[slow - 1])
    low, high = np.log(rates_per_s[slow - 1 : slow + 1])
    return Crossing(float(np.exp(low + part * (high - low))), "inside")
