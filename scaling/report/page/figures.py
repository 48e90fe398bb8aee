"""The study's pictures, each with the table that it was drawn from, put under the questions that
they answer: how it scales, what freed the speed, threads or processes, memory.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator

import matplotlib as mpl

from scaling.analysis.comparison.compare import Compared
from scaling.analysis.curves.sections import Section
from scaling.base import formats
from scaling.report.page.parts import Block, Figure, Part
from scaling.report.page.picture import RC_OF_PAGES, picture
from scaling.report.plots.draw import sheets
from scaling.report.plots.subject import Subject
from scaling.report.tables.comparison_grids import (
    collector_grids,
    even_grid,
    ladder_grids,
    memory_grids,
    rival_grids,
    version_grids,
)
from scaling.report.tables.grid import Cell, Grid
from scaling.report.tables.measures import MARKS, SUSPECT, curve_name, measures, notes
from scaling.study.controls import CONTROLS

# The columns that stand in the table behind a picture; behind throughput those of no other picture,
# behind a ladder its own.
BEHIND: dict[str, tuple[str, ...]] = {
    "efficiency": ("speedup", "efficiency"),
    "memory": ("memory_mib",),
    "trade": ("throughput_per_s", "memory_mib"),
}
ELSEWHERE = frozenset(BEHIND["efficiency"] + BEHIND["memory"])

CURVES, LADDER, RIVALS, MEMORY = "curves", "ladder", "rivals", "memory"
VERSIONS, COLLECTOR = "versions", "collector"
PARTS = {
    CURVES: ("How it scales", "Work done and what is left of each worker, against N."),
    LADDER: (
        "What freed the speed",
        "Two builds differ in their allocator, in how they are built, and in the GIL: a step each.",
    ),
    RIVALS: (
        "Threads or processes",
        "Held against what anybody can have today: as many processes on the best arm with the GIL.",
    ),
    MEMORY: ("Memory", "What the whole tree of processes holds, and what each worker adds."),
    VERSIONS: ("Versions of Python", "Each version over the oldest, like held against like."),
    COLLECTOR: ("The garbage collector", "Each arm without it over the same arm with it."),
}
# The same part of a study without any processes to hold against.
WITHOUT_RIVALS = (
    "What memory buys",
    "Throughput against memory; threads without the GIL against the best single worker with it.",
)
PART_OF = {
    "throughput": CURVES,
    "efficiency": CURVES,
    "ladder": LADDER,
    "trade": RIVALS,
    "memory": MEMORY,
}


def figure_parts(about: Iterable[Subject]) -> list[Part]:
    """The parts that hold pictures, and a block in each for every section that has any."""
    blocks: dict[str, list[Block]] = defaultdict(list)
    about = list(about)
    has_rivals = any(found.baseline_ratios for each in about for found in each.comparisons)
    titles = PARTS if has_rivals else PARTS | {RIVALS: WITHOUT_RIVALS}
    with mpl.rc_context(RC_OF_PAGES):
        for number, subject in enumerate(sorted(about, key=_is_control), start=1):
            drawn = defaultdict(list)
            for kind, figure in _figures(subject, f"f{number}"):
                drawn[PART_OF[kind]].append(figure)
            grids = _grids(subject)
            for part in PARTS:
                blocks[part].append(
                    Block(subject.section.title, figures=drawn[part], grids=grids.get(part, []))
                )
    return [
        Part(name, title, [block for block in blocks[name] if not block.is_empty], told)
        for name, (title, told) in titles.items()
    ]


def _is_control(subject: Subject) -> bool:
    """What is there as a control comes after what was asked."""
    return subject.section.curves[0].key.workload in CONTROLS


def _figures(subject: Subject, name: str) -> Iterator[tuple[str, Figure]]:
    """Every picture of a subject with its kind; `name` begins their ids."""
    for kind, sheet in sheets(subject):
        shown = picture(sheet, f"{name}-{kind}")
        if kind == "ladder":
            ladders = ((each, ladder_grids(each.ladders)) for each in subject.comparisons)
            yield kind, Figure(shown, [_of(each, g) for each, grids in ladders for g in grids])
            continue
        grids = [_behind(subject.section, kind, sheet.title)]
        if kind == "memory" and not subject.comparisons:  # those have a table of them
            grids.append(_slopes(subject.section))
        yield kind, Figure(shown, grids, notes(subject.section))


def _grids(subject: Subject) -> dict[str, list[Grid]]:
    """The tables that no picture shows in full, by part."""
    found: dict[str, list[Grid]] = defaultdict(list)
    for each in subject.comparisons:
        found[RIVALS] += [_of(each, grid) for grid in rival_grids(each.baseline_ratios)]
        found[RIVALS] += [_of(each, even_grid(even)) for even in each.break_evens]
        found[MEMORY] += [_of(each, grid) for grid in memory_grids(each)]
        versions = version_grids(each.versions, subject.study)
        found[VERSIONS] += [_of(each, grid) for grid in versions]
        found[COLLECTOR] += [_of(each, grid) for grid in collector_grids(each.collectors)]
    return found


def _of(compared: Compared, grid: Grid) -> Grid:
    """The table with its loop in its title."""
    title = f"{compared.runs.title}: {grid.title}"
    return Grid(title, grid.headings, grid.rows, grid.words, grid.note)


def _behind(section: Section, kind: str, title: str) -> Grid:
    """What a picture of that kind was drawn from: a row for each N of each curve."""
    wanted = BEHIND.get(kind)
    shown = [
        measure
        for measure in measures(section)
        if (measure.column in wanted if wanted else measure.column not in ELSEWHERE)
    ]
    rows: list[list[Cell]] = []
    for curve in section.curves:
        for point in curve.points:
            marked = f"{point.workers}{MARKS.get(point.region or '', '')}"
            runs = f"{point.runs}{SUSPECT if point.suspect else ''}"
            rows.append([curve_name(curve), marked, runs, *(m.of(point) for m in shown)])
    return Grid(title, ["curve", "N", "runs", *(measure.heading for measure in shown)], rows)


def _slopes(section: Section) -> Grid:
    """What each curve's extra worker takes."""
    rows: list[list[Cell]] = [
        [curve_name(curve), curve.memory_kind, curve.slope if curve.slope.n else formats.BLANK]
        for curve in section.curves
    ]
    title = f"{section.title}: MiB per extra worker"
    return Grid(title, ["curve", "kind", "MiB per extra worker"], rows, words=2)
