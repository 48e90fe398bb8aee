"""How wide an interval is for what it is about."""

import math

from scaling.analysis.statistics.estimate import Estimate


def relative_half_width(estimate: Estimate) -> float:
    """Half the interval's width over its point: 0.02 for ± 2 %; infinite for a mere range."""
    if estimate.coverage is None or not estimate.point > 0:
        return math.inf
    return (estimate.high - estimate.low) / 2 / estimate.point
