"""Twins (A/A): duplicates of cells, run like all others, that show how far equal cells come apart.

Nothing distinguishes a twin but its label in the journal: the child gets the same document, the
live line says the same words, and it has a place of its own in the random order of every block.
"""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from scaling.journal.identity import cell_key
from scaling.journal.record import Cell


def twins_of(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """One twin for each workload among the cells, in their order.

    It repeats a cell of the curve that the workload's first cell is on: the one at the largest N
    with a core for each worker, where two runs should differ least and where figures are told.
    """
    curves: dict[str, dict[str, list[Cell]]] = {}
    for cell in cells:
        curve = cell_key(replace(cell, workers=0, pinning=None))
        curves.setdefault(cell.workload, {}).setdefault(curve, []).append(cell)
    firsts = (next(iter(each.values())) for each in curves.values())
    return tuple(replace(_telling(curve), twin=True) for curve in firsts)


def _telling(curve: Sequence[Cell]) -> Cell:
    on_cores = [cell for cell in curve if cell.region == "cores"]
    if on_cores:
        return max(on_cores, key=lambda cell: cell.workers)
    return min(curve, key=lambda cell: cell.workers)
