"""The figures of a study as tables in a terminal.

Every number comes with its range or interval and the number of runs behind it. Invalid runs are in
no number; they are listed apart, with their reasons. Use: `console.print(Results(results))`.
"""

from collections.abc import Iterator
from itertools import groupby

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from scaling.analysis.curves.curve import Curve, Point
from scaling.analysis.curves.sections import RunIssue, Section
from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.estimate import Estimate
from scaling.base import formats
from scaling.report.tables.fitting import GAP, figure_table, packed, width_of
from scaling.report.tables.laws_view import law_lines
from scaling.report.tables.measures import MARKS, SUSPECT, Measure, curve_name, measures, notes
from scaling.report.tables.rated import free_sections, free_sweeps
from scaling.report.tables.study_notes import study_notes
from scaling.report.tables.sweep_view import sweep_tables

CELLS_TOLD = 3  # of each kind of fault; Markdown has them all
SOUNDNESS_STYLES = {"void": "bold red"}  # all others are warnings
WIDE = 120  # characters from which a terminal has room for the extra columns


class Results:
    """All tables of a study, printed by rich; they fit the width available."""

    def __init__(self, results: StudyResults) -> None:
        self._results = results

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """One table per section, then what was left out or marked, and why."""
        del console
        results = self._results
        behaved = results.soundness
        if behaved.text:
            yield Text(f"{behaved.text}\n", SOUNDNESS_STYLES.get(behaved.status, "yellow"))
        yield from (Text(f"{each}\n", "yellow") for each in results.caveats)
        yield from (Text(f"{note}\n", "dim") for note in study_notes(results.frame, results.drift))
        for section in free_sections(results):
            shown = [m for m in measures(section) if options.max_width >= WIDE or not m.extra]
            yield Text(section.title, "bold")
            yield from _curve_tables(section, shown, options.max_width)
            yield Text(" ".join(notes(section)), "dim")
            yield from (Text(line, "dim") for line in law_lines(section))
            yield Text()
        for sweep in free_sweeps(results):
            yield from sweep_tables(sweep, options.max_width)
            yield Text()
        if unsound := results.run_issues:
            yield Text("Suspect and invalid runs (invalid ones are excluded)", "bold")
            yield from _issue_lines(unsound)


def _curve_tables(section: Section, shown: list[Measure], room: int) -> Iterator[Text]:
    """A heading and a table per curve, their columns of the same width throughout the section.

    Columns that find no room beside the others are in a second table, `also measured`.
    """
    headings = ["N", "runs", *(measure.heading for measure in shown)]
    bodies = [[_row(point, shown) for point in curve.points] for curve in section.curves]
    columns = zip(headings, *(row for body in bodies for row in body), strict=True)
    widths = [width_of(column) for column in columns]
    leading = sum(widths[:2]) + 2 * GAP
    tables = [[2 + place for place in table] for table in packed(widths[2:], leading, room)]
    for curve, body in zip(section.curves, bodies, strict=True):
        yield Text.assemble((curve_name(curve), "italic"), (_slope(curve), "dim"))
        first, *further = tables
        yield figure_table(headings, widths, body, [0, 1, *first])
        for places in further:
            yield Text("also measured", "dim")
            yield figure_table(headings, widths, body, [0, *places])


def _row(point: Point, shown: list[Measure]) -> list[str]:
    marked = f"{point.workers}{MARKS.get(point.region or '', '')}"
    runs = f"{point.runs}{SUSPECT if point.suspect else ''}"
    return [marked, runs, *(_figure(measure.of(point)) for measure in shown)]


def _figure(value: Estimate) -> str:
    """Median above, range or interval below."""
    return "\n".join(filter(None, (formats.number(value.point), value.bounds)))


def _slope(curve: Curve) -> str:
    if not curve.slope.n:
        return ""
    return f"  {curve.slope!s} MiB {curve.memory_kind} per extra worker"


def _issue_lines(found: list[RunIssue]) -> Iterator[Text]:
    """A line for each kind of fault, and below it the first few cells that have it."""

    def kind(run_issue: RunIssue) -> tuple[str, str]:
        return run_issue.validity, run_issue.reasons

    for (validity, reasons), group in groupby(sorted(found, key=kind), key=kind):
        members = list(group)
        runs = formats.plural(sum(member.runs for member in members), "run")
        style = "red" if validity == "invalid" else "yellow"
        yield Text.assemble((validity, style), f": {reasons}, {runs}")
        for member in members[:CELLS_TOLD]:
            yield Text.assemble(f"  {member.cell}", (f": {member.detail}", "dim"))
        if len(members) > CELLS_TOLD:
            more = formats.plural(len(members) - CELLS_TOLD, "more cell")
            yield Text(f"  and {more}", "dim")
