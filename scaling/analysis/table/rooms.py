"""Columns of messages that are sent to rooms of connections: what their members received."""

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.table.column import Column, Shown, SomeRuns
from scaling.analysis.table.generator import of_load
from scaling.study.load import STALLED


def _connection_bytes(rows: SomeRuns) -> Floats:
    """Memory at the window's end over that before the first connection, for each of them.

    NaN where members stall: what is kept for these is most of it.
    """
    connections = np.array(
        of_load(lambda load: load.connections if load.rooms and load.connections else None)(rows)
    )
    ends = [
        (None, None)
        if run.cell.parameters.get(STALLED)
        else (run.memory.pss_bytes, run.memory.idle_pss_bytes)
        for run in rows.runs
    ]
    now, idle = np.array(ends, np.float64).reshape(-1, 2).T  # None is NaN
    return np.asarray((now - idle) / connections)


ROOMS = {
    "delivered_per_s": Column(
        read=of_load(lambda load: load.delivered_per_s),
        unit="messages/s",
        definition="messages that members of rooms received in the window, each by each of them, ÷ "
        "its length; NaN where nothing is sent to rooms. A request is then a message that is "
        "published, and its latency ends when the last member has it",
        words="deliveries",
        better="more",
        shown=Shown(heading="delivered/s", name="delivered_per_s", place=5, extra=True),
    ),
    "connection_bytes": Column(
        read=_connection_bytes,
        unit="B",
        definition="PSS of the workers at the window's end, less that before the first connection, "
        "÷ connections, where these last as long as the run: their average, with what does not "
        "depend on their number. The system's buffers are in neither; NaN where members stall",
        words="memory for each connection",
        better="less",
        noise="PSS",
        shown=Shown(
            heading="KiB/connection", name="connection_kib", factor=2.0**-10, place=117, extra=True
        ),
    ),
}
