"""Runs of an open loop whose load generator sent late, by the latencies of their cell.

A latency counts from the time at which a request was due, so the generator's own lateness (slip) is
in it. On few cores workers and generator share them, and slip is a tenth of a latency or more.

Slip is compared with the median latency of the cell, not with the run's own: other load
makes both longer, so a disturbed run would pass where an undisturbed one fails. Slip of more than
half that latency makes the run invalid. More than a tenth makes its latencies upper bounds: the run
is used, and marked.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from scaling.analysis.table.groups import CELL
from scaling.analysis.validity.finding import Finding, Severity
from scaling.analysis.validity.served import LATE, MOST_SLIP, SLIP, TOO_LATE, late_rows

SLIPS = [f"slip_{name}_s" for name in SLIP]
LATENCIES = [f"latency_{name}_s" for name in SLIP]

# Of a run that is beyond several, the last one counts.
LIMITS: tuple[tuple[float, Severity, str], ...] = (
    (MOST_SLIP, "suspect", "; latencies are upper bounds"),
    (TOO_LATE, "invalid", ""),
)


def late_generators(frame: pd.DataFrame) -> Mapping[int, Finding]:
    """The finding for each valid row, by position, whose generator was late.

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
    return {
        int(rows[place]): Finding(
            LATE, severity, f"the load generator sent late: {late} in the cell{then}"
        )
        for most, severity, then in LIMITS
        for place, late in late_rows(slip_s, latency_s, most)
    }
