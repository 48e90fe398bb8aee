"""The least and the most that a latency can be where it is only a bound, run by run.

The latencies of a server that fell behind are lower bounds, and so are those of one that declined
requests, unless they are latencies of good answers alone. Where the load generator was late all of
them are upper bounds, and those from the send are lower ones.
"""

import numpy as np
import pandas as pd

from scaling.analysis.table.groups import fell_behind, p99_is_bound, sent_late

LATENCY, FROM_SEND = "latency_", "service_"
OF_GOOD_ANSWERS = ("calm_p99_s", "overload_p99_s")
SHORTEST_S = 1e-9  # stands for a latency of which only an upper bound is known


def may_be_one(measure: str) -> bool:
    """Whether it is a latency of clients."""
    return measure.startswith(LATENCY) or measure in OF_GOOD_ANSWERS


def shortest_s(runs: pd.DataFrame, measure: str) -> "pd.Series[float]":
    """The least that a latency of each run can be: that from the send, where that was late."""
    from_send = measure.replace(LATENCY, FROM_SEND, 1)
    is_known = from_send != measure and from_send in runs
    known = runs[from_send] if is_known else pd.Series(np.nan, runs.index)
    late = sent_late(runs)
    return runs[measure].mask(late, known.fillna(SHORTEST_S)).astype(np.float64)


def has_no_most(runs: pd.DataFrame, measure: str) -> "pd.Series[float]":
    """1 for each run whose true latency may be higher by any amount, 0 for the others."""
    found = fell_behind(runs) if measure in OF_GOOD_ANSWERS else p99_is_bound(runs)
    return pd.Series(found, index=runs.index, dtype=np.float64)
