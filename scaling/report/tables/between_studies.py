"""Several studies side by side: a later one over an earlier one, machines, and programs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from scaling.analysis.between_studies import Across, Conclusion, Holds, Program, conclusions
from scaling.analysis.blocks import MEMORY_KINDS
from scaling.analysis.curves import READINGS
from scaling.analysis.losses import Attribution
from scaling.analysis.ratios import Ratio
from scaling.analysis.results import StudyResults
from scaling.analysis.sections import RunIssue, Section
from scaling.analysis.served.ship import Figures
from scaling.analysis.statistics.estimate import Estimate, median
from scaling.base import formats
from scaling.journal.identity import identity_of
from scaling.journal.record import Cell as StudyCell
from scaling.report.tables.comparison import warnings_of
from scaling.report.tables.findings import named, ratios_note, workers
from scaling.report.tables.grid import Cell, Chapter, Grid
from scaling.report.tables.losses import words_of
from scaling.report.tables.measures import SUSPECT, curve_name, runs_of
from scaling.report.tables.notes import issues_by_kind, machine_text, margins
from scaling.report.tables.rates import free_sections
from scaling.study.questions import CPU, P99, THROUGHPUT, section_of

# -------------------------------------------------------------------------------------- two studies
# A later study over an earlier one, cell by cell, and what must be known before.

FACTORS = {P99: 1e3, CPU: 1e6}  # from s to what is shown
UNITS = {P99: "P99 ms", CPU: "CPU µs/op"}


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
    runs = ", ".join(map(runs_of, points))
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


# ----------------------------------------------------------------------------------------- machines
# What each is, the verdict of each, its curves.

ANSWERS: tuple[Holds, ...] = ("everywhere", "not everywhere", "undecided")
HOLDS = (
    "On all: every machine has the same verdict. Each verdict is one of the machine's own study; "
    "machines are never averaged."
)


def machines_chapters(machines: Mapping[str, StudyResults]) -> list[Chapter]:
    """What is known of the machines by label: themselves, conclusions, curves."""
    return [machines_chapter(machines), *verdict_chapters(machines), *curve_chapters(machines)]


def conclusions_sentence(found: list[Conclusion]) -> str:
    """`The same verdict on all 3 machines: 2 of 5 ratios; different ones: 1; undecided: 2.`."""
    alike, different, undecided = (sum(each.holds == name for each in found) for name in ANSWERS)
    machines = max((each.machines for each in found), default=0)
    return (
        f"The same verdict on all {machines} machines: {alike} of "
        f"{formats.plural(len(found), 'ratio')}; different ones: {different}; "
        f"undecided: {undecided}."
    )


def machines_chapter(machines: Mapping[str, StudyResults]) -> Chapter:
    """A line for each machine, then what casts doubt on it."""
    lines = [f"{name}: {machine_text(each.study.machine)}." for name, each in machines.items()]
    lines += _differences(machines)
    for label, results in machines.items():
        lines += [f"{label}: {each}" for each in warnings_of(results)]
        lines += doubted(label, results.run_issues)
    return Chapter("The machines", lines)


def _differences(machines: Mapping[str, StudyResults]) -> list[str]:
    """What differs from the first one besides the machine: `b differs from a in: the builds`."""
    (first, results), *others = machines.items()
    known, lines = identity_of(results.study), []
    for label, each in others:
        own = replace(identity_of(each.study), machine=known.machine)
        if words := own.differences(known):
            lines.append(f"{label} differs from {first} in: {'; '.join(words)}.")
    return lines


def verdict_chapters(machines: Mapping[str, StudyResults]) -> list[Chapter]:
    """A table for each section and loop: a row for each ratio, a column for each machine."""
    found, labels = conclusions(machines), list(machines)
    chapters = []
    for title in dict.fromkeys(each.title for each in found):
        members = [each for each in found if each.title == title]
        rows: list[list[Cell]] = [
            [_question(each), _on_all(each), *_values(each, labels)] for each in members
        ]
        ratios = [ratio for each in members for ratio in each.found.values()]
        note = f"{ratios_note(ratios)} {HOLDS}"
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
    """For each section its curves at every N, machine beside machine."""
    labels = list(machines)
    titles: dict[StudyCell, str] = {}
    found: dict[StudyCell, dict[str, Section]] = {}
    for label, results in machines.items():
        for section in free_sections(results):
            subject = section_of(section.curves[0].key)
            titles.setdefault(subject, f"{section.title}, {section.operation}/s")
            found.setdefault(subject, {})[label] = section
    chapters = []
    for subject, sections in found.items():
        grids = [
            _curve_grid(title, measure, sections, labels)
            for title, measure in (("Throughput", "throughput"), ("Speed-up over N = 1", "speedup"))
        ]
        shown = [grid for grid in grids if grid.rows]
        chapters.append(Chapter(titles[subject], [], shown))
    return chapters


def _curve_grid(
    title: str, measure: str, sections: Mapping[str, Section], labels: list[str]
) -> Grid:
    rows: dict[tuple[str, int], dict[str, Estimate]] = {}
    for label, section in sections.items():
        for curve in section.curves:
            for point in curve.points:
                found = point.estimate(measure)
                if found.n and not (measure == "speedup" and point.workers == 1):
                    rows.setdefault((curve_name(curve), point.workers), {})[label] = found
    lines: list[list[Cell]] = [
        [name, str(n), *(values.get(label, formats.BLANK) for label in labels)]
        for (name, n), values in sorted(rows.items(), key=lambda row: row[0])
    ]
    return Grid(title, ["curve", "N", *labels], lines, 2)


# ----------------------------------------------------------------------------------------- programs
# What each does as threads and as processes, and what it loses: one table.

HEADINGS = ["program", "workers", "requests/s", "CPU ms\na request", "memory\nMiB"]
OF_THREADS = ["over the best\nprocesses", "sharing:\nrequests/s", "sharing:\nCPU", "largest loss"]
NOTE = (
    "At the peak, medians; each program as it is, with its own requests. Sharing: what N threads "
    "gain over one, over what the processes gain, as scaling app splits it. Largest loss: the term "
    "of scaling explain by which the time of N threads grew most, and its share of the whole loss."
)
WITHOUT_TERMS = "Threads without loops are measured from outside and have no terms: {}."
UNPROVEN = "not proven"


def programs_chapter(found: Sequence[Program]) -> Chapter:
    """The table: three rows for each program, the second half of them about its threads."""
    rows = [row for each in found for row in _rows_of(each)]
    without = [each.name for each in found if each.lost is None]
    notes = [NOTE, *([WITHOUT_TERMS.format(formats.listed(without))] if without else [])]
    headings = [*HEADINGS, *OF_THREADS]
    grid = Grid("", headings, rows, words=2, note="\n".join(notes), grouped=True)
    return Chapter("Programs side by side", [], [grid])


def _rows_of(each: Program) -> Iterable[list[Cell]]:
    factors = (each.throughput, each.cpu)
    of_threads: list[Cell] = [
        each.over.ratio if each.over else formats.BLANK,
        *(factor.sharing if factor else formats.BLANK for factor in factors),
        _loss(each.lost) if each.lost else formats.BLANK,
    ]
    for figures in each.figures:
        beside = of_threads if figures is each.threads else [""] * len(of_threads)
        yield [each.name, named(figures.cell), *_figures(figures), *beside]


def _figures(each: Figures) -> list[Cell]:
    values = (each.throughput_per_s, each.cpu_ms_per_request, each.memory_mib)
    return [value if value.n else formats.BLANK for value in values]


def _loss(each: Attribution) -> str:
    """`user CPU, 62 %`; that none is proven, or that nothing is lost."""
    if each.whole is None:
        return formats.BLANK
    if each.largest is None:
        return UNPROVEN
    share = each.largest.loss.point / each.whole.loss.point
    return f"{words_of(each.largest.term, each)}, {formats.percent(round(share, 2))}"
