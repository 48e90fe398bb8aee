"""What freed the speed, as a waterfall: each step's factor from where the one before ended.

The axis is logarithmic, so that equal factors are equally high wherever they stand, and up is
faster. The last bar is the headline itself, from 1: where it does not end level with the bar
before it, the medians of the factors do not quite multiply to it. The band around 1 is the noise.
"""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from scaling.analysis.arrays import Floats
from scaling.analysis.comparison import Ladder, ladders
from scaling.analysis.ratios import Ratio
from scaling.base import formats
from scaling.base.vocabulary import THREADS
from scaling.report.plots.panel import median_words, reaches, write_beside
from scaling.report.plots.plot import Plot, Subject
from scaling.report.plots.sheet import Layout, Sheet
from scaling.report.plots.style import BAND_ALPHA, INK, QUIET
from scaling.report.plots.svg import say
from scaling.report.tables.arms import ladder_grids
from scaling.report.tables.findings import named
from scaling.report.tables.grid import Grid

BAR = 0.56  # of the room for a bar
DOT_ASIDE = 0.36  # bars' widths right of a bar's middle
HEAD_ROOM, FOOT_ROOM = 1.55, 1.3  # factors: the upper one leaves room for what is written there


def draw(subject: Subject) -> Sheet:
    """The sheet: a row for each loop and version, a panel for each N."""
    rows = _rows(subject)
    columns = max(len(few) for _, few in rows)
    layout = Layout(len(rows) * columns, columns, panel_in=2.6)
    arms = {cell.arm for _, row in rows for ladder in row for cell in ladder.cells}
    stepped_on = [
        curve
        for curve in subject.section.curves
        if curve.key.arm in arms and curve.key.model == THREADS
    ]
    sheet = subject.sheet(
        "what freed the speed of threads",
        "",
        layout,
        stepped_on,
        measures=("throughput",),
        drawn=[factor for _, row in rows for ladder in row for factor in _factors(ladder)],
        dots="one block",
    )
    levels = [level for _, row in rows for ladder in row for level in _levels(ladder)]
    low, high = min(1.0, *levels) / FOOT_ROOM, max(1.0, *levels) * HEAD_ROOM
    for (loop, row), panels in zip(rows, list(sheet.panels), strict=True):
        for spare in panels[len(row) :]:
            sheet.leave_out(spare)
        for axes, ladder in zip(panels, row, strict=True):
            _panel(axes, ladder, subject, loop)
            axes.set_ylim(low, high)
            _finish(axes, "throughput, lowest rung = 1")
    return sheet


def is_there(subject: Subject) -> bool:
    """Whether there are two rungs to step between."""
    return any(ladders(compared) for compared in subject.comparisons)


def _rows(subject: Subject) -> list[tuple[str, list[Ladder]]]:
    """The ladders to draw, with their loop: a row for each version, those at a few Ns."""
    rows = []
    for compared in subject.comparisons:
        found = ladders(compared)
        tops = dict.fromkeys(ladder.top.arm for ladder in found)
        for top in tops:
            every = [each for each in found if each.top.arm == top]
            ns = [ladder.workers for ladder in every]
            wanted = {ns[0], compared.headline_n, ns[-1]}  # three panels at most, side by side
            few = [ladder for ladder in every if ladder.workers in wanted]
            rows.append((compared.loop, few))
    return rows


def _factors(ladder: Ladder) -> list[Ratio]:
    """Of each step, and of all together."""
    return [*ladder.steps, ladder.headline]


def _levels(ladder: Ladder) -> Floats:
    """The level after each step, and the headline's."""
    steps = np.cumprod([step.point for step in ladder.steps])
    return np.append(steps, ladder.headline.point)


def _panel(axes: Axes, ladder: Ladder, subject: Subject, loop: str) -> None:
    level = 1.0
    names = []
    for place, step in enumerate(ladder.steps):
        colour = subject.colours[step.of.arm]
        _bar(axes, place, level, step, colour)
        names.append(step.name.replace(" and ", " and\n"))
        after = level * step.point
        if len(ladder.steps) > 1:
            axes.plot([place, place + 1], [after, after], color=QUIET, lw=0.7, zorder=1)
        level = after
    if len(ladder.steps) > 1:
        colour = subject.colours[ladder.top.arm]
        _bar(axes, len(names), 1.0, ladder.headline, colour, total=True)
        names.append("together")
    if np.isfinite(floor := subject.noise("throughput")):
        around = 1 / (1 + floor), 1 + floor
        axes.axhspan(*around, color=QUIET, alpha=BAND_ALPHA, lw=0, zorder=0.8, gid="noise")
    axes.axhline(1, color=subject.colours[ladder.bottom.arm], lw=1.6, zorder=4)
    axes.set_xticks(range(len(names)), names)
    axes.set_xlim(-0.6, len(names) - 0.4)
    axes.set_title(f"{loop}, N = {ladder.workers}")


def _bar(
    axes: Axes,
    place: int,
    level: float,
    factor: Ratio,
    colour: str,
    *,
    total: bool = False,
) -> None:
    """A bar from `level` to `level` × factor, its bounds, a dot for each block, the factor."""
    height = level * (factor.point - 1)
    values = factor.blocks[np.isfinite(factor.blocks)]
    fill = "white" if total else colour
    style: dict[str, Any] = {"color": fill, "alpha": 0.85, "ec": colour, "lw": 1.6, "zorder": 3}
    bar = axes.bar(place, height, BAR, bottom=level, **style)
    words = f"{named(factor.of)} over {factor.over.arm}"
    say(bar.patches[0], median_words(words, factor, factor.blocks))
    axes.errorbar(
        place,
        level * factor.point,
        yerr=level * reaches([factor]),
        color=INK,
        elinewidth=1.0,
        capsize=2.4,
        zorder=5,
    )
    dots = axes.scatter(
        np.full(len(values), place + DOT_ASIDE),
        level * values,
        s=10,
        color=colour,
        alpha=0.5,
        linewidths=0,
        zorder=4,
        gid="runs",
    )
    say(dots, f"{words}: blocks")
    top = level * max(1.0, factor.high, *values)
    text = f"×{formats.number(factor.point)}"
    weight = "bold" if total else "normal"
    look: dict[str, Any] = {"ha": "center", "va": "bottom", "fontsize": 8.5, "fontweight": weight}
    write_beside(axes, text, (place, top), (0, 3), gid="factor", **look)


def _finish(axes: Axes, y_label: str) -> None:
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_locator(LogLocator(base=2))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))
    axes.set_ylabel(y_label)


def _tables(subject: Subject, title: str) -> list[Grid]:
    """The tables of the ladders, each loop's with its own."""
    del title
    return [
        grid.of(compared.title)
        for compared in subject.comparisons
        for grid in ladder_grids(compared)
    ]


PLOT = Plot("ladder", draw, is_there, _tables, "ladder")
