"""Columns of servers that decline requests that they cannot answer in time."""

import numpy as np

from scaling.analysis.table.column import Column, Read, Shown
from scaling.journal.record import RunLine

REFUSED, MISSED = "status 503", "status 504"
DECLINES = {"deadline_ms", "in_flight_limit"}  # parameters of workloads that decline requests


def _share(kind: str) -> Read:
    """Requests declined with this status ÷ those offered; NaN of workloads that decline none."""

    def of(run: RunLine) -> float:
        may = not DECLINES.isdisjoint(run.cell.parameters)
        if not may or run.load is None or not run.load.offered:
            return np.nan
        return run.load.declined.get(kind, 0) / run.load.offered

    return lambda rows: list(map(of, rows.runs))


DECLINED = {
    "refused_fraction": Column(
        read=_share(REFUSED),
        definition="requests refused (status 503) ÷ requests due, of a workload with a limit on "
        "requests in flight",
        better="less",
        shown=Shown(heading="refused %", name="refused_percent", factor=100, place=101),
    ),
    "deadline_missed_fraction": Column(
        read=_share(MISSED),
        definition="requests given up at the deadline (status 504) ÷ requests due, of a workload "
        "with a deadline",
        better="less",
        shown=Shown(
            heading="deadline missed %", name="deadline_missed_percent", factor=100, place=102
        ),
    ),
}
