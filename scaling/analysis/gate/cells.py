"""Which cells of a study are to be checked, and which compared with an earlier study.

Those of an open loop are never checked: their throughput is that of the schedule.
"""

from collections.abc import Iterable
from itertools import groupby

from scaling.analysis.blocks import Blocks
from scaling.analysis.gate.request import Filter
from scaling.base.errors import UsageError
from scaling.journal.record import Cell
from scaling.study.controls import is_control
from scaling.study.load import is_open_loop
from scaling.study.questions import curve_of


def passes(cell: Cell, wanted: Filter) -> bool:
    """Whether a filter lets a cell pass; controls only if they are named."""
    return _is_named(cell, wanted) and (not wanted.at or cell.workers in wanted.at)


def checked(blocks: Blocks, wanted: Filter) -> list[Cell]:
    """The cells of closed loops that pass a filter, at least one; without an N in it the largest of
    each curve above 1 that has a core for each worker.

    Raises:
        UsageError: a name or an N that no cell has, or nothing is left.
    """
    closed = [each for each in blocks.cells if not is_open_loop(each.parameters)]
    if not closed:
        raise UsageError(
            "gate: this study has nothing but open loops, whose throughput is that of the schedule"
        )
    found = named(closed, wanted)
    if not wanted.at:
        inside = (
            each for each in found if each.workers > 1 and blocks.region(each) in ("cores", None)
        )
        found = [list(curve)[-1] for _, curve in groupby(inside, key=curve_of)]
    if not found:
        raise UsageError(
            "gate: no curve has an N above 1 with a core for each worker; choose an N with --at"
        )
    return found


def named(cells: Iterable[Cell], wanted: Filter) -> list[Cell]:
    """Those of the cells that pass a filter.

    Raises:
        UsageError: a name or an N that no cell has, or nothing is left.
    """
    cells = list(cells)
    for field, names in wanted.names.items():
        known = list(dict.fromkeys(str(getattr(each, field)) for each in cells))
        for name in names:
            if name not in known:
                raise UsageError(
                    f"gate: --{field} {name}: not in this study, which has {', '.join(known)}"
                )
    passing = [each for each in cells if _is_named(each, wanted)]
    if not passing:
        raise UsageError("gate: no curve of this study matches all options; leave one out")
    measured = sorted({each.workers for each in passing})
    for n in wanted.at:
        if n not in measured:
            ns = ", ".join(map(str, measured))
            raise UsageError(f"gate: --at {n}: not measured; these curves have N = {ns}")
    return [each for each in passing if passes(each, wanted)]


def _is_named(cell: Cell, wanted: Filter) -> bool:
    """Whether a filter lets it pass, whatever its N."""
    if "workload" not in wanted.names and is_control(cell.workload, cell.parameters):
        return False
    return all(getattr(cell, field) in names for field, names in wanted.names.items())
