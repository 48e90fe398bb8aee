"""Runs of an open loop whose load generator sent late, by the latencies of their cell.

A latency counts from the time at which a request was due, so the generator's own lateness (slip) is
in it. On few cores workers and generator share them, and slip is a tenth of a latency or more.

Slip is compared with the median latency of the cell, not with the run's own: a run that other load
disturbed is late in both, and would pass where an undisturbed one fails. More than half of it makes
the run invalid. More than a tenth makes its latencies upper bounds: the run is used, and marked.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from scaling.analysis.table.groups import CELL
from scaling.analysis.validity import Finding
from scaling.analysis.validity.served import LATE, MOST_SLIP, SLIP, TOO_LATE, late_rows

SLIPS = [f"slip_{name}_s" for name in SLIP]
LATENCIES = [f"latency_{name}_s" for name in SLIP]


def late_generators(frame: pd.DataFrame) -> Mapping[int, Finding]:
    """The finding for each row, by position, whose generator was late; other invalid ones not.

    In a closed loop nothing is due, so nothing slips.
    """
    slips = np.isfinite(frame[SLIPS[0]].to_numpy(np.float64))
    rows = np.flatnonzero(slips & frame["valid"].to_numpy(np.bool_))
    if not len(rows):
        return {}
    judged = frame[[*CELL, *SLIPS, *LATENCIES]].iloc[rows]
    cells = judged.groupby(list(CELL), observed=True)
    slip_s = judged[SLIPS].to_numpy(np.float64).T
    latency_s = cells[LATENCIES].transform("median").to_numpy(np.float64).T
    every = np.ones(len(rows), np.bool_)
    bounds = {
        int(rows[place]): Finding(
            LATE,
            "suspect",
            f"the load generator sent late: {late} in the cell; latencies are upper bounds",
        )
        for place, late in late_rows(slip_s, latency_s, MOST_SLIP, every)
    }
    invalid = {
        int(rows[place]): Finding(
            LATE, "invalid", f"the load generator sent late: {late} in the cell"
        )
        for place, late in late_rows(slip_s, latency_s, TOO_LATE, every)
    }
    return bounds | invalid
