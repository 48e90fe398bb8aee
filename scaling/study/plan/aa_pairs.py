"""A/A pairs: cells that are measured twice in a block, which shows how much equal cells differ.

Nothing distinguishes the second of a pair but its label in the journal (`twin`): the child gets the
same document, the live line says the same words, and it has a place of its own in the random order
of every block.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from scaling.builds.arms import parse_arm
from scaling.journal.identity import canonical, cell_key
from scaling.journal.record import Cell
from scaling.study.load import CLOSED, RATE

FEWEST_ALIKE = 8  # cells that deserve a pair of their own: it adds an eighth to their time, at most


def repeats_of(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """The second cells of A/A pairs, in the order of their workloads.

    Each workload has a pair. Where it has many cells with one set of parameters, or at one rate,
    these have a pair of their own: how much equal runs differ depends on both.
    """
    workloads: dict[str, list[Cell]] = {}
    for cell in cells:
        workloads.setdefault(cell.workload, []).append(cell)
    chosen = (cell for own in workloads.values() for cell in _of_workload(own))
    return tuple(replace(cell, twin=True) for cell in chosen)


def _of_workload(cells: Sequence[Cell]) -> Iterator[Cell]:
    first = _repeated(cells)
    yield first
    variants: dict[str, list[Cell]] = {}
    for cell in cells:
        variants.setdefault(canonical(cell.parameters), []).append(cell)
    del variants[canonical(first.parameters)]
    at_rate = Counter(map(_rate, cells))
    paired = {_rate(first)}
    for alike in variants.values():
        rate = _rate(alike[0])
        is_new = rate not in paired and at_rate[rate] >= FEWEST_ALIKE
        if is_new or len(alike) >= FEWEST_ALIKE:
            paired.add(rate)
            yield _repeated(alike)


def _rate(cell: Cell) -> object:
    return cell.parameters.get(RATE, CLOSED)


def _repeated(cells: Sequence[Cell]) -> Cell:
    """The cell to repeat, at the largest N with a core for each worker.

    It is one of the first curve of threads without the GIL, which the figures are about, or of the
    first curve: equal runs of threads that contend for a GIL differ more.
    """
    curves: dict[str, list[Cell]] = {}
    for cell in cells:
        curves.setdefault(cell_key(replace(cell, workers=0, pinning=None)), []).append(cell)
    return _at_largest(_headline([*curves.values()]))


def _headline(curves: Sequence[Sequence[Cell]]) -> Sequence[Cell]:
    without_gil = (
        curve
        for curve in curves
        if curve[0].model == "threads" and parse_arm(curve[0].arm).without_gil
    )
    return next(without_gil, curves[0])


def _at_largest(curve: Sequence[Cell]) -> Cell:
    on_cores = [cell for cell in curve if cell.region == "cores"]
    if on_cores:
        return max(on_cores, key=lambda cell: cell.workers)
    return min(curve, key=lambda cell: cell.workers)
