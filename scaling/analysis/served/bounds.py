"""Ratios of which some are bounds: what they prove.

Where the load generator was late, a latency from the due time is an upper bound of what the server
needed, and the one from the send a lower bound: the truth lies between them. A verdict must hold
for all of it. Other bounds have a side: a ratio of one is lower or higher than the truth.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.statistics.verdict import RatioVerdict

FELL_BEHIND = "a server fell behind, or declined requests: its P99 is a lower bound"
SENT_LATE = "the load generator was late, and its lateness may be all of the difference"


class Bounded(NamedTuple):
    """Ratios of shape (blocks,), NaN for no value.

    `sides` are those to which some of them are only bounds: 1 where the truth is higher, -1 where
    it is lower. `between` are the least and the greatest median that the lateness of the load
    generator allows.
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
    """The verdict, or `inconclusive` where the truth may be another; `why`: it has other bounds."""
    judged = verdict.verdict
    if judged.word == "inconclusive":
        return verdict
    if not found.sides <= {judged.side}:
        reason = why
    elif not judged.holds_between(*found.between):
        reason = SENT_LATE
    else:
        return verdict
    return replace(verdict, verdict=replace(judged, word="inconclusive", why=reason))
