"""What a fault does to requests, as a table: who else waits, what is lost, until when."""

from collections.abc import Sequence

from scaling.base import formats
from scaling.journal.faults import FaultRecord
from scaling.report.tables.grid import Cell, Grid

HEADINGS = ["fault", "arm", "model", "server", "requests", "lost", "refused"]
MEASURES = {
    "its loop P99 ms": "own_p99_ms",
    "max ms": "own_max_ms",
    "others P99 ms": "others_p99_ms",
    "others max ms": "others_max_ms",
    "answers again after s": "back_s",
}
NOTE = (
    "One run each, without an interval. Lost: sent and not answered; refused: nobody listened. "
    "A process that is gone is started again at once, as a service manager does."
)


def faults_grid(faults: Sequence[FaultRecord]) -> Grid:
    """The table; `faults` has at least one."""
    first = faults[0]
    title = f"Faults, N = {first.workers}, at {formats.number(first.rate_per_s)}/s"
    return Grid(title, [*HEADINGS, *MEASURES], [_row(each) for each in faults], words=4, note=NOTE)


def _row(each: FaultRecord) -> list[Cell]:
    values = [getattr(each, attribute) for attribute in MEASURES.values()]
    return [
        each.fault,
        each.arm,
        each.model,
        each.server,
        f"{each.requests:,}",
        f"{each.lost:,}",
        f"{each.refused:,}",
        *(formats.BLANK if value is None else formats.number(value) for value in values),
    ]
