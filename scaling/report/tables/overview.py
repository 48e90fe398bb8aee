"""The figures of a study in short: a table for each workload, a row for each configuration.

Throughput is at N = 1 and at the largest N with a core for each worker; in an open loop latency is
at the middle rate. The full tables have every N, every rate and every figure.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from scaling.analysis.curves import Curve, Point
from scaling.analysis.results import StudyResults
from scaling.analysis.sections import Section, Sweep, Track
from scaling.analysis.statistics.estimate import Estimate
from scaling.analysis.table.columns import SHOWN
from scaling.analysis.table.latency import PERCENTILES
from scaling.base import formats
from scaling.report.tables.findings import stacked
from scaling.report.tables.grid import GAP, WIDTH, Cell, Chapter, Grid, or_bound, width_of
from scaling.report.tables.laws import law_grids
from scaling.report.tables.measures import (
    Measure,
    curve_name,
    marked,
    measures,
    medians_note,
    notes,
    values_grid,
)
from scaling.report.tables.primitives import primitives, primitives_grid
from scaling.report.tables.rates import (
    BOUND,
    CAPACITY_BOUNDS_NOTE,
    AtRate,
    Line,
    Rated,
    free_sections,
    free_sweeps,
    rated,
)

DOT = " · "  # between the parts of a label
IN_FRONT = ("throughput_per_s", "speedup", "efficiency")  # columns that are first, or left out
MOST_LEADING = WIDTH // 2  # characters for what is in front of figures
UNDER_LOAD = ("latency_p50_s", "latency_p99_s", "cpu_s_per_op")
FELL_BEHIND = f"{BOUND} The server fell behind: a lower bound."

type Figure = tuple[str, Estimate | str]  # under its heading
type Row = tuple[list[str], dict[str, Cell]]  # which configuration, and its figures


def overview(results: StudyResults) -> list[Chapter]:
    """A chapter with one table for each workload and sizing, and one for its open loop.

    Columns stand in the order of interest: a terminal shows those that it has room for.
    """
    free: dict[tuple[str, str], list[Section]] = defaultdict(list)
    for section in free_sections(results):
        free[section.curves[0].key.workload, section.sizing].append(section)
    loaded: dict[tuple[str, str], list[Rated]] = defaultdict(list)
    for each in rated(results):
        loaded[each.lines[0].key.workload, each.section.sizing].append(each)
    return [*map(_under_load, loaded.values()), *map(_running_free, free.values())]


def _running_free(sections: Sequence[Section]) -> Chapter:
    shared, rest = apart([section.label for section in sections])
    n = max(section.headline_n for section in sections)
    rows = [
        ([own, curve.key.loop, stacked(curve.key)], _known(_figures(section, curve, n)))
        for own, section in zip(rest, sections, strict=True)
        for curve in section.curves
    ]
    points = [point for each in sections for curve in each.curves for point in curve.points]
    title = f"{shared}{DOT}{sections[0].sizing} sizing, N = {n}"
    return chapter_of(title, ["with", "loop"], rows, [medians_note(points)], in_short=True)


def _figures(section: Section, curve: Curve, n: int) -> Iterator[Figure]:
    at = {point.workers: point for point in curve.points}
    for k in (1, n):
        if k in at:
            yield f"{section.operation}/s\nN = {k}", at[k].throughput
    if n not in at:
        return
    yield "MiB per\nextra worker", curve.slope
    if n > 1:
        yield "speed-up", at[n].speedup
    for each in measures(section):
        if each.shown.name not in IN_FRONT and not each.shown.extra:
            yield each.shown.heading, each.of(at[n])


def _under_load(several: Sequence[Rated]) -> Chapter:
    shared, rest = apart([each.label for each in several])
    rows: list[Row] = []
    points, notes = [], []
    for own, each in zip(rest, several, strict=True):
        rate = f"at {formats.number(each.middle_rate_per_s)}/s"
        for line, at in each.headline:
            words = [own, rate, line.key.loop, stacked(line.key)]
            rows.append((words, _known([*_capacities(each, line), *_seen(at)])))
            points.append(at.point)
            notes += [FELL_BEHIND] if at.is_bound else []
        notes += [CAPACITY_BOUNDS_NOTE] if any(one.bound for one in each.capacities) else []
    n = max(each.headline_n for each in several)
    title = f"{shared}{DOT}{several[0].section.sizing} sizing, under load, N = {n}"
    said = [medians_note(points), *notes]
    return chapter_of(title, ["with", "rate", "loop"], rows, said, in_short=True)


def _capacities(each: Rated, line: Line) -> Iterator[Figure]:
    """The highest rates that keep each objective."""
    key = line.key
    for one in each.capacities:
        of = one.cell
        if (of.arm, of.model, of.loop, of.workers) == (key.arm, key.model, key.loop, line.workers):
            yield f"{each.sent}/s\n{one.objective.text}", or_bound(one.estimate, one.bound)


def _seen(at: AtRate) -> Iterator[Figure]:
    """What clients saw, and what it cost."""
    for column in UNDER_LOAD:
        shown = SHOWN[column].shown
        assert shown is not None
        value = at.point.figures[column].scaled(shown.factor, shown.heading)
        is_bound = at.is_bound and column in PERCENTILES and value.n
        yield shown.heading, or_bound(value, BOUND if is_bound else "")
    yield "MiB", at.point.memory


def _known(figures: Iterable[Figure]) -> dict[str, Cell]:
    return {name: value for name, value in figures if isinstance(value, str) or value.n}


def chapter_of(
    title: str, heads: Sequence[str], rows: Sequence[Row], notes: list[str], *, in_short: bool
) -> Chapter:
    """The table of all rows; words that they have in common are in the title."""
    kept = []
    for place in range(len(heads)):
        values = {words[place] for words, _ in rows}
        if len(values) > 1:
            kept.append(place)
        elif value := "".join(values):
            title += f", {value}"
    subjects = [[*(words[place] for place in kept), words[-1]] for words, _ in rows]
    headings = [*(heads[place] for place in kept), "configuration"]
    leading = sum(map(width_of, zip(headings, *subjects, strict=True))) + GAP * len(headings)
    if leading > MOST_LEADING:  # one below the other, so that figures find room
        headings, subjects = headings[-1:], [[_in_lines(each)] for each in subjects]
    names = list(dict.fromkeys(name for _, figures in rows for name in figures))
    cells: list[list[Cell]] = [
        [*subject, *(figures.get(name, formats.BLANK) for name in names)]
        for subject, (_, figures) in zip(subjects, rows, strict=True)
    ]
    note = " ".join(dict.fromkeys(notes))
    shown = [*headings, *names]
    return Chapter(title, [], [Grid("", shown, cells, len(headings), note, in_short=in_short)])


def _in_lines(subject: Sequence[str]) -> str:
    """The parameters one below the other, then all else."""
    own, *others = subject
    return f"{own}\n{' '.join(others).replace('\n', ' ')}"


def apart(labels: Sequence[str]) -> tuple[str, list[str]]:
    """The parts that all labels have, and those that each has besides, one below the other."""
    parts = [label.split(DOT) for label in labels]
    shared = [part for part in parts[0] if all(part in each for each in parts)]
    rest = ["\n".join(part for part in each if part not in shared) for each in parts]
    return DOT.join(shared), rest


# -------------------------------------------------------------------------------------------- swept
# A sweep as small tables: a row for each value of the parameter, a column for each N.
#
# One for each figure that goes with a parameter: throughput, speed-up, latencies, and what the
# workload itself measures.

OF_SCHEDULE = ("throughput_per_s", "speedup")  # in an open loop the schedule decides these


def sweep_grids(sweep: Sweep) -> list[Grid]:
    """The figures that are known at several values, track by track."""
    is_open = all(section.rate_per_s is not None for section in sweep.sections)
    every = [
        measure
        for measure in measures(sweep.section)
        if measure.shown.swept and not (is_open and measure.shown.name in OF_SCHEDULE)
    ]
    return [
        grid
        for track in sweep.tracks
        for measure in every
        for grid in _known_grids(sweep, track, measure)
    ]


def sweep_note(sweep: Sweep) -> str:
    """What stands below all of its tables."""
    return medians_note(point for curve in sweep.section.curves for point in curve.points)


def _known_grids(sweep: Sweep, track: Track, measure: Measure) -> Iterator[Grid]:
    """The table of a figure, if more than one value has it."""
    ns = [n for n in track.workers if n > 1 or measure.shown.name != "speedup"]
    points = [list(row) for row in zip(*(track.at(n) for n in ns), strict=True)]
    if sum(any(point and measure.of(point).n for point in row) for row in points) <= 1:
        return
    rows: list[list[Cell]] = [
        [formats.parameter(value), *(measure.of(p) if p else formats.BLANK for p in row)]
        for value, row in zip(sweep.values, points, strict=True)
    ]
    columns = zip(*points, strict=True)
    headings = [f"N = {_marked(column)}" for column in columns]
    yield Grid(f"{curve_name(track)}: {measure.shown.heading}", [sweep.parameter, *headings], rows)


def _marked(points: tuple[Point | None, ...]) -> str:
    """`4*`, as N is marked in other tables: it is in one region at all values."""
    return next(marked(point) for point in points if point)


# ------------------------------------------------------------------------------------------ figures
# All figures of a study as chapters: a table of each section, and of what each parameter does.


def figure_chapters(results: StudyResults, *, extra: bool = True) -> Iterator[Chapter]:
    """A chapter of each section and each sweep; with `extra` columns if there is room for them.

    Those of all primitives together come first.
    """
    for rows in primitives(results):
        yield Chapter(rows.title, [], [primitives_grid(rows)])
    for section in free_sections(results):
        shown = [measure for measure in measures(section) if extra or not measure.shown.extra]
        below = [*_slopes(section), *notes(section)]
        yield Chapter(section.title, [], [values_grid(section, shown, note="\n".join(below))])
    for sweep in free_sweeps(results):
        if grids := sweep_grids(sweep):
            yield Chapter(sweep.title, [], [*grids[:-1], grids[-1].noted(sweep_note(sweep))])
    for grid in law_grids(results):
        yield Chapter("Laws", [], [grid])


def _slopes(section: Section) -> list[str]:
    return [
        f"{curve_name(curve)}: {curve.slope!s} MiB {curve.memory_kind} per extra worker"
        for curve in section.curves
        if curve.slope.n
    ]
