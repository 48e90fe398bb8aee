"""A/A pairs: cells that are measured twice in a block, which shows how much equal cells differ.

Nothing distinguishes the second of a pair but its label in the journal (`twin`): the child gets the
same document, the live line says the same words, and it has a place of its own in the random order
of every block.
"""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from scaling.builds.arms import parse_arm
from scaling.journal.identity import cell_key
from scaling.journal.record import Cell


def repeats_of(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """The second cell of an A/A pair, one for each workload among the cells, in their order.

    It repeats a cell of the workload's first curve of threads without the GIL, which the figures
    are about, or of its first curve: equal runs of threads that contend for a GIL differ more. It
    is the cell at the largest N with a core for each worker.
    """
    curves: dict[str, dict[str, list[Cell]]] = {}
    for cell in cells:
        curve = cell_key(replace(cell, workers=0, pinning=None))
        curves.setdefault(cell.workload, {}).setdefault(curve, []).append(cell)
    return tuple(
        replace(_repeated(_headline([*each.values()])), twin=True) for each in curves.values()
    )


def _headline(curves: Sequence[Sequence[Cell]]) -> Sequence[Cell]:
    without_gil = (
        curve
        for curve in curves
        if curve[0].model == "threads" and parse_arm(curve[0].arm).without_gil
    )
    return next(without_gil, curves[0])


def _repeated(curve: Sequence[Cell]) -> Cell:
    on_cores = [cell for cell in curve if cell.region == "cores"]
    if on_cores:
        return max(on_cores, key=lambda cell: cell.workers)
    return min(curve, key=lambda cell: cell.workers)
