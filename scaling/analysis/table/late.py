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

from scaling.analysis.arrays import Floats
from scaling.analysis.table.groups import CELL, in_open_loop
from scaling.analysis.validity import Finding
from scaling.analysis.validity.served import LATE, MOST_SLIP, SLIP, TOO_LATE, late_rows


def late_generators(frame: pd.DataFrame) -> Mapping[int, Finding]:
    """The finding for each row, by position, whose generator was late; other invalid ones not."""
    judged = in_open_loop(frame) & frame["valid"].to_numpy(np.bool_)
    if not judged.any():
        return {}
    cells = [frame[name] for name in CELL]
    slip_s = _figures(frame, "slip")
    latencies = (frame[f"latency_{name}_s"].where(judged) for name in SLIP)
    latency_s = np.array(
        [each.groupby(cells, observed=True).transform("median") for each in latencies]
    )
    bounds = {
        row: Finding(
            LATE,
            "suspect",
            f"the load generator sent late: {late} in the cell; latencies are upper bounds",
        )
        for row, late in late_rows(slip_s, latency_s, MOST_SLIP, judged)
    }
    invalid = {
        row: Finding(LATE, "invalid", f"the load generator sent late: {late} in the cell")
        for row, late in late_rows(slip_s, latency_s, TOO_LATE, judged)
    }
    return bounds | invalid


def _figures(frame: pd.DataFrame, of: str) -> Floats:
    return np.array([frame[f"{of}_{name}_s"].to_numpy(np.float64) for name in SLIP])
