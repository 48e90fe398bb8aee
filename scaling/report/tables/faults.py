"""What a fault does to requests, as a table: who else waits, what is lost, until when."""

from collections.abc import Sequence

from scaling.base import formats
from scaling.journal.beside import FaultRecord
from scaling.report.tables.grid import Cell, Grid

HEADINGS = ["fault", "arm", "model", "server", "requests", "lost", "refused"]
MEASURES = {
    "blocked P99 ms": "own_p99_ms",
    "blocked max ms": "own_max_ms",
    "others P99 ms": "others_p99_ms",
    "others max ms": "others_max_ms",
    "answers again after s": "back_s",
}
A_WORKER = "one worker "  # how names of faults begin
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
    """`A worker (threads · processes) blocked for 1 s, others' P99 3 · 2 ms; killed, …`."""
    if not faults:
        return ""
    models = list(dict.fromkeys(each.model for each in faults))
    found = {(each.fault, each.model): each for each in faults}
    effects = (
        f"{name.removeprefix(A_WORKER)}, {_effect([found.get((name, model)) for model in models])}"
        for name in dict.fromkeys(each.fault for each in faults)
    )
    return f"A worker ({' · '.join(models)}) {'; '.join(effects)}."


def _effect(of_models: Sequence[FaultRecord | None]) -> str:
    """What one fault does to requests, for each model."""
    if not any(each and each.own_p99_ms is not None for each in of_models):  # nothing was blocked
        counts = (f"{e.lost + e.refused:,}" if e else formats.BLANK for e in of_models)
        return f"{' · '.join(counts)} failed"
    # Any thread of WSGI answers: there are no others.
    waits = (each and (each.others_p99_ms or each.own_p99_ms) for each in of_models)
    texts = (formats.number(wait) if wait else formats.BLANK for wait in waits)
    return f"others' P99 {' · '.join(texts)} ms"


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
