"""What workloads keep in memory: how much a cell needs, and whether the machine has it.

A cell that needs more would swap, or be killed by the kernel, and so would what runs beside it.
"""

from collections.abc import Mapping

from scaling.base.formats import number, percent, plural
from scaling.journal.record import Cell, Holds, ParameterValue, WorkloadFacts

GIB = 1 << 30
MOST = 0.8  # of the machine's memory; the rest is for all else


def held_bytes(facts: WorkloadFacts, cell: Cell, parameters: Mapping[str, ParameterValue]) -> int:
    """What a cell keeps in memory at most; `parameters` are as its arm changes them."""
    if facts.holds is None:
        return 0
    copies = _copies(facts.holds, cell, parameters)
    return copies * _copy_bytes(facts, facts.holds, parameters)


def too_much_memory(
    facts: WorkloadFacts,
    cell: Cell,
    parameters: Mapping[str, ParameterValue],
    memory_bytes: float,
) -> str | None:
    """Why the cell cannot run on a machine with so much memory; None where it can."""
    limit = MOST * memory_bytes
    if facts.holds is None or held_bytes(facts, cell, parameters) <= limit:
        return None
    copies = _copies(facts.holds, cell, parameters)
    each = _copy_bytes(facts, facts.holds, parameters)
    return (
        f"{plural(cell.workers, 'worker')}: the {facts.holds.what} needs up to "
        f"{_gib(copies * each)} ({copies} × {_gib(each)}), and the limit is {_gib(limit)}, "
        f"{percent(MOST)} of the memory here"
    )


def _gib(size_bytes: float) -> str:
    return f"{number(size_bytes / GIB)} GiB"


def _copies(holds: Holds, cell: Cell, parameters: Mapping[str, ParameterValue]) -> int:
    """How many there are once every worker has read all of it; a parent keeps the first one."""
    if holds.in_service and holds.in_service.items() <= dict(parameters).items():
        return 1
    if holds.own_copies and holds.own_copies.items() <= dict(parameters).items():
        return cell.workers
    return {"threads": 1, "forked": 1 + cell.workers}.get(cell.model, cell.workers)


def _copy_bytes(
    facts: WorkloadFacts, holds: Holds, parameters: Mapping[str, ParameterValue]
) -> int:
    def value(name: str) -> ParameterValue:
        return parameters.get(name, facts.parameters[name].default)

    count, kind = value(holds.count), value(holds.by)
    return int(count or 0) * holds.bytes_each[str(kind)]
