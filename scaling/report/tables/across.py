"""Two studies compared, as chapters of words and tables."""

from collections.abc import Sequence

from scaling.analysis.between_studies import Across
from scaling.analysis.blocks import MEMORY_KINDS
from scaling.analysis.curves import READINGS
from scaling.analysis.ratios import Ratio
from scaling.analysis.results import StudyResults
from scaling.analysis.sections import RunIssue, Section
from scaling.analysis.statistics.estimate import Estimate, median
from scaling.base import formats
from scaling.journal.record import Cell as StudyCell
from scaling.report.tables.comparison import warnings_of
from scaling.report.tables.findings import ratios_note
from scaling.report.tables.grid import Cell, Chapter, Grid
from scaling.report.tables.measures import SUSPECT
from scaling.report.tables.notes import issues_by_kind, margins
from scaling.study.questions import CPU, P99, THROUGHPUT

# ---------------------------------------------------------------------------------------- sentences
# What must be known before two studies are compared, in words.


def changed(found: Across, figures: Sequence[Estimate]) -> list[str]:
    """The notes that stand above the comparison of two studies, and above these figures."""
    lines = []
    if found.is_backwards:
        began = [each.study.started_at for each in (found.then, found.now)]
        lines.append(
            "The study named first began after the one named second "
            f"({began[0]}, {began[1]}): swap them."
        )
    if found.differences:
        lines.append(f"Not the same in both: {'; '.join(found.differences)}.")
    lines.append("The studies were not run side by side: ratios are unpaired.")
    if figures:
        lines.append(ratios_note(figures, "ratios unpaired"))
    alone = [
        f"{formats.plural(count, 'cell')} only in the {which}"
        for study, which in ((found.then, "earlier"), (found.now, "later"))
        if (count := len(study.blocks.cells) - len(found.cells))
    ]
    if alone:
        lines.append(f"Left out: {', '.join(alone)}.")
    for study, which in ((found.then, "earlier"), (found.now, "later")):
        if without := found.without_run(study):
            cells = formats.plural(len(without), "cell")
            lines.append(
                f"Left out, {cells} without a valid run in the {which}: {'; '.join(without)}."
            )
    if others := found.across_states:
        names = "; ".join(found.now.names[each] for each in others)
        lines.append(f"In another allocator state than before, which the ratio includes: {names}.")
    return lines


def doubted(name: str, found: list[RunIssue]) -> list[str]:
    """The suspect and invalid runs of a study: a sentence for each kind of issue."""
    lines = []
    for first, *others in issues_by_kind(found):
        runs = formats.plural(first.runs + sum(each.runs for each in others), "run")
        more = f" and {formats.plural(len(others), 'more cell')}" if others else ""
        lines.append(f"{name}: {runs} {first.validity} ({first.reasons}): {first.cell}{more}.")
    return lines


# ------------------------------------------------------------------------------------------- tables

FACTORS = {P99: 1e3, CPU: 1e6}  # from s to what is shown
UNITS = {P99: "P99 ms", CPU: "CPU µs/op"}


def across_chapters(found: Across, then: str, now: str) -> list[Chapter]:
    """Two studies side by side: a table for each section; `then` and `now` name them."""
    studies = ((then, found.then), (now, found.now))
    words = [f"{name}: {each}" for name, study in studies for each in warnings_of(study)]
    tables = [*filter(None, (_chapter(found, section) for section in found.now.sections))]
    rows = [row for table in tables for grid in table.grids for row in grid.rows]
    words += changed(found, [each for row in rows for each in row if isinstance(each, Estimate)])
    words += [each for name, study in studies for each in doubted(name, study.run_issues)]
    return [Chapter(f"{now} over {then}", words), *tables]


def what(study: StudyResults, cell: StudyCell, measure: str) -> str:
    """A measure with the unit that it is shown in: `round trips/s`, `P99 ms`, `PSS MiB`."""
    if measure == THROUGHPUT:
        note = study.study.workloads.get(cell.workload)
        return f"{note.operation if note else 'operations'}/s"
    if measure in MEMORY_KINDS:
        return f"{MEMORY_KINDS[measure]} MiB"
    return UNITS.get(measure, "capacity/s")


def value(study: StudyResults, cell: StudyCell, measure: str) -> Estimate:
    """A measure of a cell, in that unit."""
    values = study.blocks.series(cell, measure).values
    return median(values * FACTORS.get(measure, 1.0), what(study, cell, measure))


def _chapter(found: Across, section: Section) -> Chapter | None:
    """The cells of a section that have a valid run in both studies; None where there are none."""
    cells = [
        each
        for curve in section.curves
        for point in curve.points
        if found.is_measured(each := curve.key.but(workers=point.workers))
    ]
    if not cells:
        return None
    pace = P99 if section.rate_per_s is not None else THROUGHPUT
    ratios = {(each.of, each.measure): each for each in found.ratios}
    rows = [_row(found, ratios, each, pace) for each in cells]
    unit = what(found.now, cells[0], pace)
    headings = ["curve", "N", f"{unit} then", "now", "ratio", "memory"]
    grid = Grid("", headings, rows, 2, _note(found, cells, ratios, pace))
    own = [each for each in ratios.values() if each.of in cells]
    return Chapter(section.title, margins(own), [grid])


def _row(
    found: Across, ratios: dict[tuple[StudyCell, str], Ratio], cell: StudyCell, pace: str
) -> list[Cell]:
    """Loop, arm and model with the runs, `8, 8? runs`: how many then and now, of the latter some
    suspect; then N and the figures.
    """
    points = (study.points[cell] for study in (found.then, found.now))
    runs = ", ".join(f"{each.runs}{SUSPECT if each.suspect else ''}" for each in points)
    ratio = ratios.get((cell, pace))
    memory = next((ratios[cell, kind] for kind in MEMORY_KINDS if (cell, kind) in ratios), None)
    return [
        f"{cell.loop} · {cell.arm} · {cell.model} · {runs} runs".replace(" · ", "\n"),
        str(cell.workers),
        *(value(study, cell, pace) for study in (found.then, found.now)),
        ratio if ratio and ratio.n else formats.BLANK,
        memory or formats.BLANK,
    ]


def _note(
    found: Across,
    cells: list[StudyCell],
    ratios: dict[tuple[StudyCell, str], Ratio],
    pace: str,
) -> str:
    """What the marks and blanks of a table across studies mean."""
    studies = (found.then, found.now)
    lines = ["Runs: earlier study, later study."]
    if any(study.points[cell].suspect for study in studies for cell in cells):
        lines.append(f"{SUSPECT} some of them are suspect: see above.")
    shown = [ratios.get((cell, pace)) for cell in cells]
    if pace == P99 and not all(each and each.n for each in shown):
        lines.append(
            f"{formats.BLANK} no ratio: too few requests for P99, or servers fell behind or "
            "declined requests in both studies, and both P99 are lower bounds."
        )
    kinds = {study.blocks.memory_column(cell) for study in studies for cell in cells}
    if len(kinds) == len(READINGS):
        lines.append("Memory is blank where one study has PSS and the other RSS.")
    return " ".join(lines)
