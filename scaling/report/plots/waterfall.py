"""What is lost, as a waterfall: from the time of an operation at N = 1, term by term, to that at N.

A loss is a full bar, a gain a hollow one; each begins where the one above it ends. The dashed line
is where as many processes end: what is right of it is the cost of sharing a process.
"""

from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from scaling.analysis.losses import Attribution
from scaling.analysis.statistics.estimate import Estimate, bounds_kind
from scaling.base import formats
from scaling.base.vocabulary import THREADS
from scaling.builds.arms import free_arms
from scaling.report.plots.panel import reaches, round_ticks, write_beside
from scaling.report.plots.plot import Plot, Subject
from scaling.report.plots.sheet import Layout, Sheet, bar_entry
from scaling.report.plots.style import BEHIND_TEXT, IDEAL_LINE, INK, QUIET
from scaling.report.plots.svg import say
from scaling.report.tables.grid import Grid
from scaling.report.tables.losses import Unit, losses_grids, unit_of, words_of

COLUMNS = 2
BAR = 0.62  # of the room for a bar
LETTERS = 7.8  # points
ROOM_RIGHT = 1.22  # of the longest bar: figures are written there


def draw(subject: Subject) -> Sheet:
    """The sheet: a panel for each loop and curve at its lowest, headline and highest N."""
    shown = _shown(subject)
    layout = Layout(len(shown), min(COLUMNS, len(shown)), panel_in=2.3)
    unit = unit_of(max(each.whole.at_n.point for each in shown if each.whole))
    cells = {(each.runs.loop, *_curve(each)) for each in shown}
    curves = [
        curve
        for curve in subject.section.curves
        if (curve.key.loop, curve.key.arm, curve.key.model) in cells
    ]
    title = "where the time of an operation goes"
    sheet = subject.sheet(title, "", layout, curves, dots="", also=_key(shown))
    for axes, each in zip(sheet.all_panels, shown, strict=True):
        _panel(axes, each, subject, unit)
    return sheet


def is_there(subject: Subject) -> bool:
    """Whether there is a cell with an ideal and readings of where the time goes."""
    return bool(_shown(subject))


def _shown(subject: Subject) -> list[Attribution]:
    """Threads without the GIL, or all curves where there are none."""
    known = [each for each in subject.attributions if each.whole and not each.is_rated]
    free = free_arms(each.of.arm for each in known)
    wanted = [each for each in known if each.of.arm in free and each.of.model == THREADS] or known
    return [each for each in wanted if each.workers in _ns(each, wanted)]


def _ns(each: Attribution, among: list[Attribution]) -> set[int]:
    """The Ns of a curve that have a panel."""
    alike = (other for other in among if other.runs is each.runs and _curve(other) == _curve(each))
    ns = [other.workers for other in alike]
    return {min(ns), each.runs.headline_n, max(ns)}


def _curve(each: Attribution) -> tuple[str, str]:
    return each.of.arm, each.of.model


def _key(shown: list[Attribution]) -> list[Line2D]:
    """What the bars are, and the line of the processes where there is one."""
    kind = bounds_kind(loss.loss for each in shown for loss in each.losses)
    line = Line2D([], [], color=QUIET, lw=1.1, ls=IDEAL_LINE, label="as many processes")
    return [
        Line2D([], [], color=QUIET, marker="s", ls="", ms=7, label="loss"),
        Line2D([], [], color=QUIET, marker="s", mfc="none", ls="", ms=7, label="gain"),
        *([bar_entry(f"mean with {kind}")] if kind else []),
        *([line] if any(each.shared for each in shown) else []),
    ]


def _panel(axes: Axes, each: Attribution, subject: Subject, unit: Unit) -> None:
    assert each.whole is not None
    colour = subject.colours[each.of.arm]
    losses = [loss for loss in each.losses if loss.loss.n]
    one, many = (_in(unit, value) for value in (each.whole.at_one, each.whole.at_n))
    steps = [_in(unit, loss.loss) for loss in losses]
    levels = np.cumsum([one.point, *(step.point for step in steps)])
    top = max(levels.max(), many.high)
    _total(axes, 0, each.whole.at_one, "N = 1", unit)
    spans = zip(losses, steps, pairwise(levels), strict=True)
    for place, (loss, step, (begin, end)) in enumerate(spans, start=1):
        fill = colour if end >= begin else "white"
        style: dict[str, Any] = {"color": fill, "ec": colour, "lw": 1.0, "zorder": 3}
        bar = axes.barh(place, end - begin, BAR, left=begin, **style)
        say(bar.patches[0], f"{words_of(loss.term, each)}: {unit.text(loss.loss)}")
        _bounds(axes, place, end, step)
        text = formats.signed(unit.number(loss.loss))
        _write(axes, place, max(begin, begin + step.high), text)
        axes.plot([begin, begin], [place - 1, place], color=QUIET, lw=0.6, zorder=1)
    _total(axes, len(steps) + 1, each.whole.at_n, f"N = {each.workers}", unit)
    if each.shared is not None:
        at = one.point + _in(unit, each.shared.machine).point
        axes.axvline(at, color=QUIET, lw=1.1, ls=IDEAL_LINE, zorder=2, gid="processes")
    words = (words_of(loss.term, each).replace(" or ", "\nor ") for loss in losses)
    names = ["N = 1", *words, f"N = {each.workers}"]
    axes.set_yticks(range(len(names)), names)
    axes.yaxis.set_tick_params(labelsize=LETTERS)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(0, top * ROOM_RIGHT)
    axes.grid(visible=True, axis="x")
    axes.grid(visible=False, axis="y")
    round_ticks(axes.xaxis, 5)
    axes.set_xlabel(f"{unit.name} of worker time per operation")
    name = f"{each.runs.loop} · {each.of.arm} · {each.of.model}, N = {each.workers}"
    axes.set_title(name)


def _in(unit: Unit, value: Estimate) -> Estimate:
    return value.scaled(unit.per_s, unit.name)


def _total(axes: Axes, place: int, value_s: Estimate, name: str, unit: Unit) -> None:
    value = _in(unit, value_s)
    bar = axes.barh(place, value.point, BAR, color=QUIET, alpha=0.55, lw=0, zorder=3, gid="total")
    say(bar.patches[0], f"{name}: {unit.text(value_s)}")
    _bounds(axes, place, value.point, value)
    _write(axes, place, value.high, unit.number(value_s))


def _bounds(axes: Axes, place: float, at: float, value: Estimate) -> None:
    """The interval of a value whose point is drawn at `at`."""
    if value.n > 1:
        axes.errorbar(
            at, place, xerr=reaches([value]), color=INK, elinewidth=0.9, capsize=2.0, zorder=5
        )


def _write(axes: Axes, place: int, after: float, text: str) -> None:
    look: dict[str, Any] = {"fontsize": LETTERS, "bbox": BEHIND_TEXT, "gid": "figure"}
    write_beside(axes, text, (after, place), (4, 0), **look)


def _tables(subject: Subject, title: str) -> list[Grid]:
    """The losses of every cell of a section, a table for each loop."""
    del title
    titles = dict.fromkeys(each.runs.title for each in subject.attributions)
    return [
        grid.of(title)
        for title in titles
        for grid in losses_grids(each for each in subject.attributions if each.runs.title == title)
    ]


PLOT = Plot("losses", draw, is_there, _tables, "losses")
