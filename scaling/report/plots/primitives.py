"""Workload `primitives` as one picture: a row for each primitive, a mark for each build.

Each mark is what N threads gain over one, with its interval: between 1, where all wait for what
they share, and N, where nothing is shared.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from scaling.analysis.results import StudyResults
from scaling.analysis.sections import Section
from scaling.analysis.statistics.estimate import bounds_kind
from scaling.analysis.table.empty_loop import PRIMITIVES
from scaling.report.plots.caption import caption
from scaling.report.plots.panel import median_words
from scaling.report.plots.plot import Subject, sizing_text
from scaling.report.plots.sheet import Draw, Layout, Sheet, bar_entry, new_sheet
from scaling.report.plots.style import IDEAL_LINE, INK, QUIET, arm_colours
from scaling.report.plots.svg import say
from scaling.report.tables.primitives import Primitives, primitives

NAME = "primitives"
MARK_IN, BETWEEN_IN = 0.11, 0.12  # of a row: for each arm, and between rows
LOOK: dict[str, Any] = {"ms": 5, "mec": "white", "zorder": 4, "gid": "ratio"}
SPREAD = 0.6  # of a row, over which its marks are spread


def is_row(subject: Subject) -> bool:
    """Whether it is one primitive of several, which have one picture together."""
    section = subject.section
    return section.curves[0].key.workload == PRIMITIVES and section.label != PRIMITIVES


def drawings(results: StudyResults) -> Iterator[tuple[str, Draw]]:
    """The sheet of each loop, with the name of its file."""
    for number, rows in enumerate(primitives(results)):
        name = f"{NAME}-{rows.sizing}-gains"
        yield name if not number else f"{name}~{number + 1}", partial(_draw, rows, results)


def _draw(rows: Primitives, results: StudyResults) -> Sheet:
    colours = arm_colours(rows.arms)
    key = [Line2D([], [], color=colours[arm], marker="o", ls="", label=arm) for arm in rows.arms]
    kind = bounds_kind(ratio for row in rows.gains.values() for ratio in row.values())
    if kind:
        key.append(bar_entry(f"median with {kind}"))
    ideal = f"ideal: {rows.workers} times as much"
    key.append(Line2D([], [], color=QUIET, lw=1.1, ls=IDEAL_LINE, label=ideal))
    curves = [
        curve
        for each in results.judged
        if each.loop == rows.loop and each.section.curves[0].key.workload == NAME
        for curve in each.curves
    ]
    row_in = MARK_IN * len(rows.arms) + BETWEEN_IN
    sheet = new_sheet(
        rows.title,
        f"{sizing_text(rows.sizing)} · the empty loop is subtracted",
        key,
        caption(Section("", rows.sizing, "", curves), results, {}),
        Layout(1, 1, panel_in=row_in * len(rows.gains) + 0.1),
    )
    (axes,) = sheet.all_panels
    _panel(axes, rows, colours)
    return sheet


def _panel(axes: Axes, rows: Primitives, colours: dict[str, str]) -> None:
    axes.axvline(1.0, color=INK, lw=0.9, zorder=1)
    axes.axvline(rows.workers, color=QUIET, lw=1.1, ls=IDEAL_LINE, zorder=1)
    step = SPREAD / max(1, len(rows.arms) - 1)
    for place, (name, gains) in enumerate(rows.gains.items()):
        for number, arm in enumerate(rows.arms):
            if gain := gains.get(arm):
                at = place + step * (number - (len(rows.arms) - 1) / 2)
                axes.plot([gain.low, gain.high], [at, at], color=colours[arm], lw=1.6, zorder=3)
                (mark,) = axes.plot([gain.point], [at], "o", color=colours[arm], **LOOK)
                say(mark, [median_words(f"{name}, {arm}, N = {rows.workers} ÷ N = 1", gain)])
    names = list(rows.gains)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks(range(len(names)), names)
    axes.grid(visible=False)
    axes.set_xlim(left=0)
    axes.xaxis.set_major_locator(MaxNLocator(8, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))
    axes.set_xlabel(f"throughput, N = {rows.workers} ÷ N = 1")
