"""Several machines side by side: what they are, the verdict of each, its curves and laws."""

from collections.abc import Mapping

from scaling.analysis.between_studies import Conclusion, Holds, conclusions
from scaling.analysis.results import StudyResults
from scaling.analysis.sections import Section
from scaling.analysis.statistics.estimate import Estimate
from scaling.base import formats
from scaling.journal.folder import Standing
from scaling.journal.record import Cell as CellOfStudy
from scaling.report.tables.across import doubted
from scaling.report.tables.comparison import warnings_of
from scaling.report.tables.findings import named, ratios_note, workers
from scaling.report.tables.grid import Cell, Chapter, Grid
from scaling.report.tables.laws import fitted_lines
from scaling.report.tables.measures import curve_name
from scaling.report.tables.notes import machine_text
from scaling.report.tables.rated import free_sections
from scaling.study.questions import section_of

ANSWERS: tuple[Holds, ...] = ("everywhere", "not everywhere", "undecided")
HOLDS = (
    "On all: every machine has the same verdict. Each verdict is one of the machine's own study; "
    "machines are never averaged."
)


def machines_chapters(
    machines: Mapping[str, StudyResults], standings: Mapping[str, Standing]
) -> list[Chapter]:
    """What is known of the machines by label: themselves, conclusions, curves, laws.

    `standings` say how far the study of each is, where that is known.
    """
    return [
        machines_chapter(machines, standings),
        *verdict_chapters(machines),
        *curve_chapters(machines),
    ]


def conclusions_sentence(found: list[Conclusion]) -> str:
    """`The same verdict on all 3 machines: 2 of 5 ratios; different ones: 1; undecided: 2.`."""
    alike, different, undecided = (sum(each.holds == name for each in found) for name in ANSWERS)
    machines = max((each.machines for each in found), default=0)
    return (
        f"The same verdict on all {machines} machines: {alike} of "
        f"{formats.plural(len(found), 'ratio')}; different ones: {different}; "
        f"undecided: {undecided}."
    )


def machines_chapter(
    machines: Mapping[str, StudyResults], standings: Mapping[str, Standing]
) -> Chapter:
    """A line for each machine, then what casts doubt on it."""
    lines = []
    for label in dict.fromkeys([*machines, *standings]):
        of = [machine_text(machines[label].study.machine)] if label in machines else []
        standing = standings.get(label)
        far = [str(standing)] if standing else []
        lines.append(f"{label}: {'; '.join([*of, *far])}.")
    for label, results in machines.items():
        lines += [f"{label}: {each}" for each in warnings_of(results)]
        lines += doubted(label, results.run_issues)
    return Chapter("The machines", lines)


def verdict_chapters(machines: Mapping[str, StudyResults]) -> list[Chapter]:
    """A table for each section and loop: a row for each ratio, a column for each machine."""
    found, labels = conclusions(machines), list(machines)
    chapters = []
    for title in dict.fromkeys(each.title for each in found):
        members = [each for each in found if each.title == title]
        rows: list[list[Cell]] = [
            [_question(each), _on_all(each), *_values(each, labels)] for each in members
        ]
        values = [value for each in members for value in each.found.values()]
        note = f"{ratios_note([*values])} {HOLDS}"
        grid = Grid("The verdicts", ["ratio", "on all", *labels], rows, 2, note)
        chapters.append(Chapter(title, [conclusions_sentence(members)], [grid]))
    return chapters


def _question(each: Conclusion) -> str:
    over = each.ratio.over
    if not over.model:
        theirs = "the best single worker with the GIL"
    elif not over.arm:
        theirs = f"the best {workers(over)} with the GIL"
    else:
        theirs = named(over)
    return f"{named(each.ratio.of)}\nover {theirs}"


def _on_all(each: Conclusion) -> str:
    """`faster`, `no: faster, slower`, `undecided`; how many measured it where not all did."""
    words = list(dict.fromkeys(each.words.values()))
    if each.holds == "everywhere":
        return f"yes: {words[0]}"
    if each.holds == "not everywhere":
        return f"no: {', '.join(words)}"
    lack = each.machines - len(each.found)
    return f"undecided\n({formats.plural(lack, 'machine')} without it)" if lack else "undecided"


def _values(each: Conclusion, labels: list[str]) -> list[Cell]:
    values: list[Cell] = [each.found.get(label, formats.BLANK) for label in labels]
    return values


def curve_chapters(machines: Mapping[str, StudyResults]) -> list[Chapter]:
    """For each section its curves at every N, machine beside machine, and each machine's laws."""
    labels = list(machines)
    titles: dict[CellOfStudy, str] = {}
    found: dict[CellOfStudy, dict[str, Section]] = {}
    for label, results in machines.items():
        for section in free_sections(results):
            subject = section_of(section.curves[0].key)
            titles.setdefault(subject, f"{section.title}, {section.operation}/s")
            found.setdefault(subject, {})[label] = section
    chapters = []
    for subject, sections in found.items():
        laws = [
            f"{label}: {line}" for label, each in sections.items() for line in fitted_lines(each)
        ]
        grids = [
            _curve_grid(what, measure, sections, labels)
            for what, measure in (("Throughput", "throughput"), ("Speed-up over N = 1", "speedup"))
        ]
        shown = [grid for grid in grids if grid.rows]
        chapters.append(Chapter(titles[subject], laws, shown))
    return chapters


def _curve_grid(
    title: str, measure: str, sections: Mapping[str, Section], labels: list[str]
) -> Grid:
    rows: dict[tuple[str, int], dict[str, Estimate]] = {}
    for label, section in sections.items():
        for curve in section.curves:
            for point in curve.points:
                value = point.estimate(measure)
                if value.n and not (measure == "speedup" and point.workers == 1):
                    rows.setdefault((curve_name(curve), point.workers), {})[label] = value
    lines: list[list[Cell]] = [
        [name, str(n), *(values.get(label, formats.BLANK) for label in labels)]
        for (name, n), values in sorted(rows.items(), key=lambda row: row[0])
    ]
    return Grid(title, ["curve", "N", *labels], lines, 2)
