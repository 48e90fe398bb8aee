"""What can be looked up of a cell: its values block by block, its unit, its name in words.

Most measures are a column of the frame (`scaling.analysis.table.columns.MEASURES`) or a figure of
the workload's own; a speed-up also needs N = 1, a slope every N of the curve.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from scaling.analysis.blocks import MEMORY_KINDS, PSS, RSS, Blocks, Series
from scaling.analysis.curves.memory import ns_of_slope, slopes
from scaling.analysis.lookup.cells import AbsentCellError
from scaling.analysis.table.column import Noise
from scaling.analysis.table.columns import MEASURES
from scaling.analysis.table.own_figures import readable, unit_of
from scaling.base.errors import UsageError
from scaling.base.suggest import nearest
from scaling.journal.record import Cell
from scaling.study.questions import THROUGHPUT, curve_of

MEMORY, SLOPE = "memory_mib", "memory_slope_mib"
OVER_ONE = ("speedup", "efficiency")  # over N = 1 of the same curve


class Measure(NamedTuple):
    """Something that can be looked up; `noise` is the measure whose noise it has."""

    words: str
    unit: str
    series: Callable[[Blocks, Cell], Series]
    noise: Noise = "throughput"


def is_of_a_curve(measure: str) -> bool:
    """Whether it is a figure of all Ns of a curve, and not of one."""
    return measure == SLOPE


def measure_of(blocks: Blocks, name: str, cells: Sequence[Cell]) -> Measure:
    """The measure of that name, of one cell or of two that are to be compared.

    Of memory it is PSS, or RSS where the section of one of the cells has no PSS.

    Raises:
        AbsentCellError: it is over N = 1, which the study does not have.
        UsageError: none of that name is known, and no run of the cells has it as its own.
    """
    if name in (MEMORY, SLOPE):
        column = PSS if all(blocks.memory_column(each) == PSS for each in cells) else RSS
        kind = MEMORY_KINDS[column]
        if name == MEMORY:
            return Measure(kind, "MiB", _column(column), kind)
        unit = "MiB per extra worker"
        return Measure(f"{kind} per extra worker", unit, lambda b, c: _slope(b, c, column), kind)
    if name in OVER_ONE and not all(each.but(workers=1) in blocks.place for each in cells):
        message = f"{name} is over N = 1, which {blocks.study.name} does not have"
        raise AbsentCellError(message, distance=1)
    if name in WORKED_OUT:
        return WORKED_OUT[name]
    if declared := MEASURES.get(name):
        note = blocks.study.workloads.get(cells[0].workload)
        operation = note.operation if note else "operations"
        unit = f"{operation}/s" if name == THROUGHPUT else declared.unit
        return Measure(declared.words or readable(name), unit, _column(name), declared.noise)
    own = dict.fromkeys(figure for cell in cells for figure in blocks.own_figures(cell))
    if name in own:
        return Measure(readable(name), unit_of(name), _column(name))
    others = [*own, *WORKED_OUT, MEMORY, SLOPE]
    meant = nearest(name, [*others, *MEASURES])
    hint = f" Did you mean {meant!r}?" if meant else ""
    there = f"There are the numbers of a frame, and {', '.join(others)}."
    raise UsageError(f"unknown measure {name!r}.{hint} {there}")


def _column(name: str) -> Callable[[Blocks, Cell], Series]:
    return lambda blocks, cell: blocks.series(cell, name)


def _s_per_op(blocks: Blocks, cell: Cell) -> Series:
    return Series.exact(1 / blocks.of(cell, THROUGHPUT))


def _speedup(blocks: Blocks, cell: Cell) -> Series:
    one = cell.but(workers=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return Series.exact(blocks.of(cell, THROUGHPUT) / blocks.of(one, THROUGHPUT))


def _efficiency(blocks: Blocks, cell: Cell) -> Series:
    return Series.exact(_speedup(blocks, cell).values / cell.workers)


def _slope(blocks: Blocks, curve: Cell, column: str) -> Series:
    """What each extra worker adds, over the Ns of the curve that a slope is over."""
    every = blocks.measured((c for c in blocks.cells if curve_of(c) == curve), column)
    inside = ns_of_slope([blocks.region(each) for each in every])
    values = np.array([blocks.series(each, column).values for each in every])
    if not every:
        return Series.exact(np.full(len(blocks.blocks), np.nan))
    workers = np.array([each.workers for each in every])
    return Series.exact(slopes(values[inside].T, workers[inside]))


WORKED_OUT = {
    "s_per_op": Measure("time per operation", "s", _s_per_op),
    "speedup": Measure("speed-up", "×", _speedup),
    "efficiency": Measure("efficiency", "", _efficiency),
}
