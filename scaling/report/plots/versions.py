"""Versions of Python: throughput of one loop, and the gain of N loops, a panel per workload.

Above, throughput at N = 1 over that of the oldest build; below, throughput at N over N = 1. A line
joins the builds with the GIL, another those without. All panels have the same versions, those of a
row one scale.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import batched

import numpy as np
from matplotlib.axes import Axes

from scaling.analysis.arrays import Floats
from scaling.analysis.comparison import VersionLines, VersionPoint, version_lines
from scaling.analysis.sections import Section
from scaling.analysis.statistics.estimate import RATIO, bounds_kind, median
from scaling.builds.arms import rising
from scaling.report.plots.caption import caption
from scaling.report.plots.panel import (
    HEAD_ROOM,
    configuration,
    draw_medians,
    draw_runs,
    finish_y,
    median_words,
)
from scaling.report.plots.plot import Subject, sizing_text
from scaling.report.plots.primitives import is_row
from scaling.report.plots.sheet import Draw, Layout, Sheet, columns_that_fit, key_entries, new_sheet
from scaling.report.plots.style import IDEAL_LINE, QUIET, ROLES

NAME = "versions"
WITH_GIL, FREE = {"with the GIL": ROLES[""]}, {"free-threaded": ROLES["t"]}
MOST_COLUMNS = 5  # of workloads side by side, that leave room for four versions under each


def drawings(subjects: Iterable[Subject]) -> Iterator[tuple[str, Draw]]:
    """The sheet of a study with the name of its file; none where no two versions are compared."""
    about = [each for each in subjects if each.comparisons and not is_row(each)]
    every = [line for each in about for made in each.comparisons if (line := version_lines(made))]
    if every:
        yield NAME, partial(_draw, about[0], every)


def _draw(about: Subject, every: Sequence[VersionLines]) -> Sheet:
    versions = rising(point.version for line in every for point in line.points)
    headings = _headings(every)
    columns = min(columns_that_fit(headings, MOST_COLUMNS), len(headings))
    rows = [
        (few, which)
        for few in batched(zip(every, headings, strict=True), columns)
        for which in ("cost", "gain")
        if np.isfinite(_all_runs((line for line, _ in few), which)).any()
    ]
    drawn = _empty(about, every, Layout(len(rows) * columns, columns, panel_in=1.9))
    for panels, (few, which) in zip(list(drawn.panels), rows, strict=True):
        top = HEAD_ROOM * float(np.nanmax(_all_runs((line for line, _ in few), which)))
        for spare in panels[len(few) :]:
            drawn.leave_out(spare)
        for axes, (line, heading) in zip(panels, few, strict=True):
            _panel(axes, line, which, versions)
            finish_y(axes, _label(line, which), max(top, 1.0))
            axes.set_title(heading)
    return drawn


def _headings(every: Sequence[VersionLines]) -> list[str]:
    """The workload of each, and its loop where there are several."""
    loops = {line.compared.loop for line in every}
    return [
        " · ".join([line.compared.section.label, *[line.compared.loop] * (len(loops) > 1)])
        for line in every
    ]


def _empty(about: Subject, every: Sequence[VersionLines], layout: Layout) -> Sheet:
    curves = [curve for line in every for curve in line.compared.curves]
    kind = bounds_kind(median(point.cost, "") for line in every for point in line.points)
    drawn = any(line.with_gil for line in every), any(line.free for line in every)
    colours = (WITH_GIL if drawn[0] else {}) | (FREE if drawn[1] else {})
    key = key_entries(colours, [], kind, "the oldest build; N = 1", dots="one block")
    sizing = about.section.sizing
    loops = ", ".join(dict.fromkeys(line.compared.loop for line in every))
    whole = Section("", sizing, "", curves)
    return new_sheet(
        "Versions of Python: throughput of one loop, and gain of N loops",
        f"{sizing_text(sizing)} · threads · {loops}",
        key,
        caption(whole, about.results, {}),
        layout,
    )


def _runs(points: Sequence[VersionPoint], which: str) -> Floats:
    """The ratios of some builds, shape (blocks, builds)."""
    return np.column_stack([getattr(point, which) for point in points])


def _all_runs(lines: Iterable[VersionLines], which: str) -> Floats:
    return np.concatenate([_runs(line.points, which).ravel() for line in lines])


def _label(line: VersionLines, which: str) -> str:
    if which == "cost":
        return f"throughput at N = 1, {line.oldest} = 1"
    return f"throughput, N = {line.workers} ÷ N = 1"


def _panel(axes: Axes, line: VersionLines, which: str, versions: list[str]) -> None:
    axes.axhline(1, color=QUIET, lw=1.1, ls=IDEAL_LINE, zorder=1)
    for points, named in ((line.with_gil, WITH_GIL), (line.free, FREE)):
        (colour,) = named.values()
        known = [point for point in points if np.isfinite(getattr(point, which)).any()]
        if not known:
            continue
        at = [versions.index(point.version) for point in known]
        runs = _runs(known, which)
        key = next(c.key for c in line.compared.curves if c.key.arm == known[0].arm)
        of_cost, of_gain = f"N = 1, over {line.oldest}", f"N = {line.workers}, over N = 1"
        over = of_cost if which == "cost" else of_gain
        medians = [median(column, RATIO) for column in runs.T]
        words = [
            median_words(f"{configuration(key.but(arm=point.arm))}, {over}", value, blocks)
            for point, value, blocks in zip(known, medians, runs.T, strict=True)
        ]
        draw_runs(axes, at, runs, np.zeros_like(runs), colour, next(iter(named)))
        draw_medians(axes, at, medians, colour, key, words)
    axes.set_xlim(-0.4, len(versions) - 0.4)
    axes.set_xticks(range(len(versions)), versions)
