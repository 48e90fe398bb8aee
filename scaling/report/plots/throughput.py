"""Throughput against N, a panel for each loop, with the line that perfect scaling would follow.

Where arms and models are many, each model has a panel of its own, and what N processes reach at
best stands in all of them: the ceiling that the others are judged against.
"""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from scaling.analysis.curves.curve import Curve
from scaling.report.plots.laws import draw_laws, law_key
from scaling.report.plots.panel import HEAD_ROOM, draw_curves, finish, highest, panels_of_models
from scaling.report.plots.plot import Plot, values_table
from scaling.report.plots.sheet import Layout, Sheet
from scaling.report.plots.style import FAINT, IDEAL_LINE
from scaling.report.plots.subject import Subject
from scaling.report.tables.grid import Grid
from scaling.study.questions import THROUGHPUT

IDEAL = "ideal: N × the median at N = 1"
# Columns of the tables behind other plots.
ELSEWHERE = frozenset({"speedup", "efficiency", "memory_mib"})
ALIKE = 0.05  # ideal lines whose N = 1 differ by less would lie on each other: one is drawn


def draw(subject: Subject) -> Sheet:
    """The sheet; its panels have the same y axis, so loops can be compared."""
    if subject.is_crowded:
        return _draw_models(subject)
    loops = subject.loops
    layout = subject.a_panel_per_loop()
    drawn = subject.estimates("throughput")
    noise = ("throughput",)
    also = law_key(subject)
    sheet = subject.sheet("throughput", IDEAL, layout, drawn=drawn, noise=noise, also=also)
    top = HEAD_ROOM * highest(subject.section.curves, "throughput")
    for place, (axes, loop) in enumerate(zip(sheet.all_panels, loops, strict=True)):
        draw_curves(axes, subject, loop, "throughput")
        draw_laws(axes, subject, loop)
        draw_ideals(axes, subject.on(loop), subject.colours)
        label = f"{subject.section.operation} / s" if place % layout.columns == 0 else ""
        finish(axes, subject, loop, label, top)
    return sheet


def is_there(subject: Subject) -> bool:
    """Whether there is any valid run."""
    return subject.has("throughput")


def _draw_models(subject: Subject) -> Sheet:
    """A row for each loop, a column for each model."""
    loops, models = subject.loops, subject.models
    layout = Layout(len(loops) * len(models), len(models))
    label = _ceiling_label(subject)
    broad = [Line2D([], [], color=FAINT, lw=6, alpha=0.7, label=label)] if label else []
    drawn = subject.estimates("throughput")
    noise = ("throughput",)
    also = [*broad, *law_key(subject)]
    sheet = subject.sheet("throughput", IDEAL, layout, drawn=drawn, noise=noise, also=also)
    top = HEAD_ROOM * highest(subject.section.curves, "throughput")
    for axes, loop, model, is_first in panels_of_models(sheet, subject):
        draw_ceiling(axes, subject, loop)
        draw_curves(axes, subject, loop, "throughput", model)
        draw_laws(axes, subject, loop, model)
        draw_ideals(axes, subject.on(loop, model), subject.colours)
        label = f"{subject.section.operation} / s" if is_first else ""
        finish(axes, subject, f"{loop}: {model}", label, top)
    return sheet


def _ceiling_label(subject: Subject) -> str:
    """`ceiling: N processes on 3.14 or 3.14+mimalloc, the fastest at each N`; empty without one."""
    arms = list(dict.fromkeys(c.arm for each in subject.comparisons for c in each.ceiling))
    chosen = ", the fastest at each N" if len(arms) > 1 else ""
    return f"ceiling: N processes on {' or '.join(arms)}{chosen}" if arms else ""


def draw_ceiling(axes: Axes, subject: Subject, loop: str) -> None:
    """A broad grey line through the medians of the best processes at each N."""
    for compared in subject.comparisons:
        if compared.loop == loop:
            medians = [float(np.nanmedian(compared.of(c, THROUGHPUT))) for c in compared.ceiling]
            ns = [cell.workers for cell in compared.ceiling]
            axes.plot(ns, medians, color=FAINT, lw=6, alpha=0.7, zorder=1.5, gid="ceiling")


def draw_ideals(axes: Axes, curves: list[Curve], colours: dict[str, str]) -> None:
    """N × the median at N = 1 of each curve; of curves that begin together only the first."""
    drawn: list[float] = []
    for curve in curves:
        first = curve.points[0]
        base = first.throughput.point
        if first.workers != 1 or not np.isfinite(base):
            continue
        if any(abs(base / other - 1) < ALIKE for other in drawn):
            continue
        drawn.append(base)
        ends = np.array([1, curve.workers[-1]])
        axes.plot(
            ends,
            ends * base,
            color=colours[curve.key.arm],
            alpha=0.75,
            lw=1.0,
            ls=IDEAL_LINE,
            zorder=2,
            gid="ideal",
        )


def _tables(subject: Subject, title: str) -> list[Grid]:
    """Everything measured but for what other plots show."""
    return values_table(subject, title, lambda measure: measure.column not in ELSEWHERE)


PLOT = Plot("throughput", draw, is_there, "curves", _tables)
