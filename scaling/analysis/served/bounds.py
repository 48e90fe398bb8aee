"""Verdicts on ratios of which some are only bounds.

Where the load generator was late, what the server needed lies between two latencies: that from the
send and that from the due time. A verdict must hold for both. The other bounds have one side: where
a server fell behind, its latency is a lower bound. Divided by another latency it gives a lower
bound of the ratio, as divisor an upper one.
"""

from typing import NamedTuple

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.statistics.verdict import RatioVerdict

FELL_BEHIND = "a server fell behind, or declined requests: its P99 is a lower bound"
SENT_LATE = "the load generator was late, and its lateness may be all of the difference"


class Bounded(NamedTuple):
    """Ratios of shape (blocks,), NaN where there is no value.

    `sides` says on which sides of some ratios the true ones are: 1 for above, -1 for below, empty
    where all are exact. `between` are the least and the greatest median that the lateness of the
    load generator allows.
    """

    ratios: Floats
    sides: set[int]
    between: tuple[float, float]


def bounded(ratios: Floats, sides: set[int], least: Floats, most: Floats) -> Bounded:
    """Ratios with the least and the most that each can be; all of shape (blocks,)."""
    known = np.isfinite(ratios)
    if not known.any():
        return Bounded(ratios, sides, (np.nan, np.nan))
    return Bounded(ratios, sides, (float(np.median(least[known])), float(np.median(most[known]))))


def proven(verdict: RatioVerdict, found: Bounded, why: str) -> RatioVerdict:
    """The verdict; `inconclusive` where the true ratios may give another one.

    `why` is the reason if that is so because of bounds with one side.
    """
    judged = verdict.verdict
    if not judged.is_decided:
        return verdict
    if not found.sides <= {judged.side}:
        return verdict.undecided(why)
    if not judged.holds_between(*found.between):
        return verdict.undecided(SENT_LATE)
    return verdict
