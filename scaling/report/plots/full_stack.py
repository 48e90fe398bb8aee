"""The full stack: CPU time of a request part by part, and throughput against N with its knee.

Not plots by section, since each stack is one: they show all stacks of a study together.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import cycle
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from scaling.analysis.curves import Point
from scaling.analysis.results import StudyResults
from scaling.analysis.sections import Section
from scaling.analysis.served.full_stack import (
    PARTS,
    Stack,
    cpu_s,
    headline_n,
    in_order,
    stacks,
    with_all_parts,
)
from scaling.analysis.statistics.estimate import bounds_kind
from scaling.analysis.table.groups import slug
from scaling.base.formats import number
from scaling.report.plots.borders import draw_regions
from scaling.report.plots.caption import load_text
from scaling.report.plots.panel import (
    HEAD_ROOM,
    draw_medians,
    finish_y,
    highest,
    median_words,
    round_ticks,
    short,
    write_beside,
)
from scaling.report.plots.plot import MOST_COLUMNS, Subject
from scaling.report.plots.sheet import Draw, Layout, Sheet, bar_entry, new_sheet
from scaling.report.plots.style import FAINT, INK, ROLES, SPARE
from scaling.report.plots.svg import say
from scaling.report.tables.full_stack import beside_text

MS = 1e3
DIVIDED = "a bar is as long as the median total; each part has its mean share of it"
BAR, ROW_IN = 0.66, 0.3
LABEL_SIZE = 8.0  # points
ROOM_RIGHT = 1.14  # of the longest bar: its figure is written there
LEAST_N = 3  # Ns that a line with a knee needs
COLOURS = {
    "proxy": FAINT,
    "application": ROLES["t"],
    "pooler": ROLES["t+gil"],
    "database": ROLES[""],
}
LINE_COLOURS = (*SPARE[-2::-1], SPARE[-1])  # the palest last
KNEE: dict[str, Any] = {"marker": "o", "ms": 11, "mfc": "none", "mew": 1.3, "ls": ""}


def drawings(results: StudyResults) -> Iterator[tuple[str, Draw]]:
    """What there is to draw, with the names of the files."""
    found = stacks(results.sections)
    if not found:
        return
    about = _subject(found, results)
    stem = slug(found[0].curve.key.workload)
    workers = headline_n(found)
    order = in_order(found, workers)
    if order:
        yield f"{stem}-cpu-by-part", partial(_cpu_sheet, order, workers, about)
    lines = [each for each in with_all_parts(found) if _known(each) >= LEAST_N]
    if lines:
        yield f"{stem}-knees", partial(_knee_sheet, lines, about)


def _subject(found: Sequence[Stack], results: StudyResults) -> Subject:
    """What both are about: what was run, on what, under which load."""
    curves = [each.curve for each in found]
    key = curves[0].key
    section = Section(key.workload, key.sizing, "requests", curves)
    # How connections are taken differs from stack to stack.
    load = (each for each in load_text(section, results) if not each.startswith("connections "))
    return Subject(section, results, load=tuple(load))


def _cpu_sheet(order: Sequence[tuple[Stack, Point]], workers: int, about: Subject) -> Sheet:
    """A bar for each stack, the least CPU time first, cut into its parts."""
    there = [part for part, column in PARTS.items() if _any(order, column)]
    key = [
        Line2D([], [], color=COLOURS[part], marker="s", ls="", ms=8, label=part) for part in there
    ]
    kind = bounds_kind(cpu_s(point) for _, point in order)
    if kind:
        key.append(bar_entry(f"total: median with {kind}"))
    layout = Layout(1, 1, panel_in=ROW_IN * len(order) + 0.1)
    title = f"{about.section.label}: CPU time of a request, N = {workers}"
    words = about.caption(DIVIDED)
    sheet = new_sheet(title, "the load generator's is not in it", key, words, layout)
    (axes,) = sheet.all_panels
    labels = [_label(stack) for stack, _ in order]
    for place, (stack, point) in enumerate(order):
        _bar(axes, place, stack, point)
    axes.set_ylim(len(order) - 0.5, -0.5)
    axes.set_yticks(range(len(order)), labels)
    axes.yaxis.set_tick_params(labelsize=LABEL_SIZE)
    axes.set_xlim(0, ROOM_RIGHT * MS * max(cpu_s(point).high for _, point in order))
    axes.grid(visible=True, axis="x")
    axes.grid(visible=False, axis="y")
    round_ticks(axes.xaxis, 7)
    axes.set_xlabel("ms of CPU time per request")
    return sheet


def _bar(axes: Axes, place: int, stack: Stack, point: Point) -> None:
    begin = 0.0
    for part, long_s in stack.parts_s(point.workers).items():
        bar = axes.barh(place, long_s * MS, BAR, left=begin, color=COLOURS[part], lw=0, gid=part)
        say(bar.patches[0], f"{_label(stack)}, {part}: {number(long_s * MS)} ms")
        begin += long_s * MS
    total = cpu_s(point).scaled(MS, "ms")
    if total.bounds:
        around = [[total.point - total.low], [total.high - total.point]]
        axes.errorbar(
            total.point, place, xerr=around, color=INK, elinewidth=0.9, capsize=2.0, zorder=5
        )
    text = short(float(f"{total.point:.3g}"))
    write_beside(axes, text, (total.high, place), (5, 0), fontsize=LABEL_SIZE, gid="total")


def _knee_sheet(lines: Sequence[Stack], about: Subject) -> Sheet:
    """A panel for each arm and model: requests/s against N, a ring where it stops to rise."""
    panels = list(dict.fromkeys((each.curve.key.arm, each.curve.key.model) for each in lines))
    names = list(dict.fromkeys(each.name for each in lines))
    colours = dict(zip(names, cycle(LINE_COLOURS), strict=False))
    key = [Line2D([], [], color=colours[name], lw=2.2, label=name) for name in names]
    key.append(Line2D([], [], color=INK, label="more workers give no more", **KNEE))
    layout = Layout(len(panels), min(len(panels), MOST_COLUMNS))
    title = f"{about.section.label}: requests/s by number of workers"
    sheet = new_sheet(title, f"with {beside_text(lines[0])}", key, about.caption(), layout)
    top = HEAD_ROOM * highest([each.curve for each in lines], "throughput")
    for axes, (arm, model) in zip(sheet.all_panels, panels, strict=True):
        for each in lines:
            if (each.curve.key.arm, each.curve.key.model) == (arm, model):
                _line(axes, each, colours[each.name])
        every_n = sorted({n for each in lines for n in each.curve.workers})
        axes.set_xticks(every_n)
        axes.set_xlim(0, every_n[-1] * 1.06)
        axes.set_xlabel("workers (N)")
        finish_y(axes, "requests / s", top)
        axes.set_title(f"{arm} · {model}")
        draw_regions(axes, about.regions)
    return sheet


def _line(axes: Axes, stack: Stack, colour: str) -> None:
    points = [point for point in stack.curve.points if point.throughput.n]
    values = [p.throughput.scaled(1, "requests / s") for p in points]
    words = [
        median_words(
            f"{_label(stack)}, N = {point.workers}",
            value,
            stack.curve.runs("throughput", point.workers),
        )
        for point, value in zip(points, values, strict=True)
    ]
    draw_medians(axes, [p.workers for p in points], values, colour, stack.curve.key, words)
    knee = stack.knee
    if knee:
        axes.plot(knee.workers, knee.throughput.point, mec=colour, gid="knee", zorder=6, **KNEE)


def _known(stack: Stack) -> int:
    return sum(point.throughput.n > 0 for point in stack.curve.points)


def _any(order: Sequence[tuple[Stack, Point]], column: str) -> bool:
    return any(column in point.figures and point.figures[column].n for _, point in order)


def _label(stack: Stack) -> str:
    """`flask/gunicorn-gthread · 3.14t threads · nginx`."""
    return " · ".join([stack.name, stack.configuration, *stack.beside])
