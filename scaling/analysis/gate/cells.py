"""Which cells of a study are to be checked, and which compared with an earlier study.

Those of an open loop are never checked: their throughput is that of the schedule.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby

from scaling.analysis.blocks import Blocks
from scaling.analysis.lookup.cells import Choice, is_chosen
from scaling.base.errors import UsageError
from scaling.journal.record import Cell
from scaling.study.controls import is_control
from scaling.study.load import is_open_loop
from scaling.study.questions import curve_of

AT = "workers"  # the field of a cell that `--at` names


def passes(cell: Cell, wanted: Choice) -> bool:
    """Whether a cell is chosen; controls only if they are named."""
    is_meant = "workload" in wanted or not is_control(cell.workload, cell.parameters)
    return is_meant and is_chosen(cell, wanted)


def checked(blocks: Blocks, wanted: Choice) -> list[Cell]:
    """The cells of closed loops that are chosen, at least one; without an N the largest of each
    curve above 1 that has a core for each worker.

    Raises:
        UsageError: a name or an N that no cell has, or nothing is left.
    """
    closed = [each for each in blocks.cells if not is_open_loop(each.parameters)]
    if not closed:
        raise UsageError(
            "gate: this study has nothing but open loops, whose throughput is that of the schedule"
        )
    found = named(closed, wanted)
    if AT not in wanted:
        inside = (
            each for each in found if each.workers > 1 and blocks.region(each) in ("cores", None)
        )
        found = [list(curve)[-1] for _, curve in groupby(inside, key=curve_of)]
    if not found:
        raise UsageError(
            "gate: no curve has an N above 1 with a core for each worker; choose an N with --at"
        )
    return found


def named(cells: Iterable[Cell], wanted: Choice) -> list[Cell]:
    """Those of the cells that are chosen.

    Raises:
        UsageError: a name or an N that no cell has, or nothing is left.
    """
    cells, names = list(cells), {field: wanted[field] for field in wanted if field != AT}
    for field, values in names.items():
        _require(cells, field, values, f"--{field}", "not in this study, which has")
    curves = [each for each in cells if passes(each, names)]
    if not curves:
        raise UsageError("gate: no curve of this study matches all options; leave one out")
    _require(curves, AT, wanted.get(AT, ()), "--at", "not measured; these curves have N =")
    return [each for each in curves if is_chosen(each, wanted)]


def _require(
    cells: Sequence[Cell], field: str, values: Iterable[object], flag: str, absent: str
) -> None:
    """Raise `UsageError` for the first of the values that no cell has."""
    there = sorted({getattr(each, field) for each in cells})
    for value in values:
        if value not in there:
            raise UsageError(f"gate: {flag} {value}: {absent} {', '.join(map(str, there))}")
