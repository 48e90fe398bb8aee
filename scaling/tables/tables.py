"""The figures of a study as tables in a terminal.

Every number comes with its range or interval and the number of runs behind it. Invalid runs are in
no number; they are listed apart, with their reasons. Use: `console.print(Results(frame, study))`.
"""

from collections.abc import Iterator
from itertools import groupby

import pandas as pd
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from scaling import wording
from scaling.analysis.controls import verdict
from scaling.analysis.curves import Curve, Point
from scaling.analysis.estimate import Estimate
from scaling.analysis.sections import Blemish, Section, blemishes, sections
from scaling.journal.record import StudyLine
from scaling.tables.measures import MARKS, SUSPECT, Measure, curve_name, measures, notes

CELLS_TOLD = 3  # of each kind of fault; Markdown has them all
VERDICT_STYLES = {"void": "bold red"}  # all others are warnings
WIDE = 120  # characters from which a terminal has room for the extra columns


class Results:
    """All tables of a study, to be printed by rich; fits itself to the width there is."""

    def __init__(self, frame: pd.DataFrame, study: StudyLine) -> None:
        self._frame = frame
        self._study = study

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """One table per section, then what was left out or marked, and why."""
        del console
        behaved = verdict(self._frame, self._study)
        if behaved.text:
            yield Text(f"{behaved.text}\n", VERDICT_STYLES.get(behaved.status, "yellow"))
        for section in sections(self._frame, self._study):
            shown = [m for m in measures(section) if options.max_width >= WIDE or not m.extra]
            yield Text(section.title, "bold")
            yield from _curve_tables(section, shown)
            yield Text(" ".join(notes(section)), "dim")
            yield Text()
        found = blemishes(self._frame)
        if found:
            yield Text("Runs that are not simply valid (invalid ones are in no figure)", "bold")
            yield from _blemish_lines(found)


def _curve_tables(section: Section, shown: list[Measure]) -> Iterator[Text | Table]:
    """A heading and a table per curve, their columns of the same width throughout the section."""
    headings = ("N", "runs", *(measure.heading for measure in shown))
    bodies = [[_row(point, shown) for point in curve.points] for curve in section.curves]
    widths = [
        max(cell_len(line) for cell in column for line in str(cell).splitlines())
        for column in zip(headings, *(row for body in bodies for row in body), strict=True)
    ]
    for curve, body in zip(section.curves, bodies, strict=True):
        yield Text.assemble((curve_name(curve), "italic"), (_slope(curve), "dim"))
        table = Table(box=None, padding=(0, 1, 0, 0))
        for heading, width in zip(headings, widths, strict=True):
            table.add_column(heading, justify="right", min_width=width, overflow="fold")
        for row in body:
            table.add_row(*row)
        yield table


def _row(point: Point, shown: list[Measure]) -> list[str | Text]:
    marked = f"{point.workers}{MARKS.get(point.region or '', ' ')}"
    runs = f"{point.runs}{SUSPECT if point.suspect else ''}"
    return [marked, runs, *(_figure(measure.of(point)) for measure in shown)]


def _figure(value: Estimate) -> Text:
    """Median above, range or interval below."""
    text, beside = Text(wording.number(value.point)), wording.bounds(value)
    return text.append(f"\n{beside}", "dim") if beside else text


def _slope(curve: Curve) -> str:
    if not curve.slope.n:
        return ""
    return f"  {wording.estimate(curve.slope)} MiB {curve.memory_kind} per extra worker"


def _blemish_lines(found: list[Blemish]) -> Iterator[Text]:
    """A line for each kind of fault, and below it the first few cells that have it."""

    def kind(blemish: Blemish) -> tuple[str, str]:
        return blemish.validity, blemish.reasons

    for (validity, reasons), group in groupby(sorted(found, key=kind), key=kind):
        members = list(group)
        runs = wording.plural(sum(member.runs for member in members), "run")
        style = "red" if validity == "invalid" else "yellow"
        yield Text.assemble((validity, style), f": {reasons}, {runs}")
        for member in members[:CELLS_TOLD]:
            yield Text.assemble(f"  {member.cell}", (f": {member.detail}", "dim"))
        if len(members) > CELLS_TOLD:
            more = wording.plural(len(members) - CELLS_TOLD, "more cell")
            yield Text(f"  and {more}", "dim")
