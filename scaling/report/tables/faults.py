"""What a fault does to requests, as a table: who else waits, what is lost, until when."""

from collections.abc import Sequence

from scaling.base import formats
from scaling.journal.faults import FaultRecord
from scaling.report.tables.grid import Cell, Grid

HEADINGS = ["fault", "arm", "model", "server", "requests", "lost", "refused"]
MEASURES = {
    "blocked P99 ms": "own_p99_ms",
    "blocked max ms": "own_max_ms",
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


def faults_sentence(faults: Sequence[FaultRecord]) -> str:
    """Who else waits for a blocked loop, and how many requests get no answer after other faults."""
    names = dict.fromkeys(each.fault for each in faults)
    return " ".join(
        f"{name[0].upper()}{name[1:]}: "
        f"{', '.join(_effect(each) for each in faults if each.fault == name)}."
        for name in names
    )


def _effect(each: FaultRecord) -> str:
    if each.own_p99_ms is None:  # nothing was blocked
        return f"{each.lost + each.refused:,} of {each.requests:,} unanswered ({each.model})"
    if each.others_p99_ms is None:  # threads of WSGI: any of them answers
        return f"P99 of all {formats.number(each.own_p99_ms)} ms ({each.model})"
    return f"P99 of the others {formats.number(each.others_p99_ms)} ms ({each.model})"


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
