"""Which cells of a study are to be checked, and which compared with an earlier study.

Those of an open loop are never checked: their throughput is that of the schedule.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from scaling.analysis.arrays import Floats
from scaling.analysis.curves.curve import Curve, Point
from scaling.analysis.curves.sections import Section
from scaling.analysis.gate.request import Filter
from scaling.base.errors import UsageError
from scaling.journal.record import Cell
from scaling.study.controls import is_control


@dataclass(frozen=True, slots=True)
class CheckedCell:
    """A point of a curve, with the section that it stands in."""

    section: Section
    curve: Curve
    point: Point

    @property
    def name(self) -> str:
        """`echo · weak · asyncio · 3.14t · threads · N = 2`."""
        key = self.curve.key
        parts = [self.section.label, key.sizing, key.loop, key.arm, key.model]
        return " · ".join([*parts, f"N = {self.point.workers}"])

    @property
    def cell(self) -> Cell:
        """The cell, which another study may have, too."""
        return self.curve.key.but(workers=self.point.workers)

    def runs(self, measure: str) -> Floats:
        """The values of its runs, shape (blocks,), NaN where there is none."""
        return self.curve.runs(measure, self.point.workers)


def every(sections: Iterable[Section]) -> list[CheckedCell]:
    """All cells of a study, the controls among them."""
    return [
        CheckedCell(section, curve, point)
        for section in sections
        for curve in section.curves
        for point in curve.points
    ]


def chosen(sections: Iterable[Section], wanted: Filter) -> list[CheckedCell]:
    """The cells that pass a filter, maybe none; controls only if they are named."""
    curves = [(section, curve) for section in _free(sections) for curve in section.curves]
    return [
        CheckedCell(section, curve, point)
        for section, curve in curves
        if passes(curve.key, wanted)
        for point in _points(curve, wanted.at)
    ]


def cells(sections: Sequence[Section], wanted: Filter) -> list[CheckedCell]:
    """The cells that pass a filter, at least one.

    Raises:
        UsageError: a name or an N that no cell has, or nothing is left.
    """
    curves = [curve for section in _free(sections) for curve in section.curves]
    if not curves:
        raise UsageError(
            "gate: this study has nothing but open loops, whose throughput is that of the schedule"
        )
    _refuse_unknown(curves, wanted)
    found = chosen(sections, wanted)
    if not found:
        raise UsageError(
            "gate: no curve has an N above 1 with a core for each worker; choose an N with --at"
        )
    return found


def compared(sections: Sequence[Section], wanted: Filter) -> list[CheckedCell]:
    """The cells that pass a filter as in `matching`, at least one.

    Raises:
        UsageError: a name or an N that no cell has, or nothing is left.
    """
    _refuse_unknown([curve for section in sections for curve in section.curves], wanted)
    return matching(sections, wanted)


def matching(sections: Iterable[Section], wanted: Filter) -> list[CheckedCell]:
    """The cells that pass a filter, at every N if it names none, open loops among them."""
    return [
        cell
        for cell in every(sections)
        if passes(cell.curve.key, wanted) and (not wanted.at or cell.point.workers in wanted.at)
    ]


def _refuse_unknown(curves: Sequence[Curve], wanted: Filter) -> None:
    """Refuse a filter with a name or an N that no curve has, or that leaves nothing.

    Raises:
        UsageError: it is one.
    """
    for field, names in wanted.names.items():
        known = list(dict.fromkeys(str(getattr(curve.key, field)) for curve in curves))
        for name in names:
            if name not in known:
                raise UsageError(
                    f"gate: --{field} {name}: not in this study, which has {', '.join(known)}"
                )
    passing = [curve for curve in curves if passes(curve.key, wanted)]
    if not passing:
        raise UsageError("gate: no curve of this study matches all options; leave one out")
    measured = {n for curve in passing for n in curve.workers}
    for n in wanted.at:
        if n not in measured:
            ns = ", ".join(map(str, sorted(measured)))
            raise UsageError(f"gate: --at {n}: not measured; these curves have N = {ns}")


type Pair = tuple[CheckedCell, CheckedCell]  # now, then


def pairs(now: Iterable[CheckedCell], then: Iterable[CheckedCell]) -> list[Pair]:
    """The cells that both studies have, at least one.

    Raises:
        UsageError: there is none.
    """
    before = {cell.cell: cell for cell in then}
    found = [(cell, before[cell.cell]) for cell in now if cell.cell in before]
    if not found:
        raise UsageError(
            "gate: --against: the studies have no cell in common (workload, parameters, loop, arm, "
            "model, N)"
        )
    return found


def _free(sections: Iterable[Section]) -> list[Section]:
    """Those whose throughput is not set by a schedule."""
    return [section for section in sections if section.rate_per_s is None]


def passes(key: Cell, wanted: Filter) -> bool:
    """Whether a filter lets a curve pass, whatever its N; controls only if they are named."""
    if "workload" not in wanted.names and is_control(key.workload, key.parameters):
        return False
    return all(getattr(key, field) in names for field, names in wanted.names.items())


def _points(curve: Curve, at: tuple[int, ...]) -> Iterator[Point]:
    if at:
        yield from (point for point in curve.points if point.workers in at)
        return
    inside = [p for p in curve.points if p.workers > 1 and p.region in ("cores", None)]
    yield from inside[-1:]
