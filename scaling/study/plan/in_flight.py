"""How much work a cell has in flight, by its sizing."""

from scaling.journal.record import Cell, WorkloadFacts, WorkloadNote
from scaling.study.definition import Study


def in_flight(facts: WorkloadFacts | WorkloadNote, cell: Cell, most_workers: int) -> int | None:
    """Work in flight over all workers; None where the workload has no parameter for it.

    `weak`: the parameter for each worker. `strong`: what `weak` has at `most_workers`, the
    workload's largest number of them, whatever the cell's own.
    """
    each = cell.parameters.get(facts.in_flight) if facts.in_flight is not None else None
    if not isinstance(each, int):
        return None
    return each * (cell.workers if cell.sizing == "weak" else most_workers)


def most_workers(study: Study, workload: str) -> int:
    """The largest number of workers that a settled study has of a workload."""
    entries = (entry for entry in study.workloads if entry.name == workload)
    return max(count for entry in entries for count in entry.counts)
