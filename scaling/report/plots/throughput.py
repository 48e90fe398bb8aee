"""Throughput against N, a panel for each loop, with the line that perfect scaling would follow.

Where arms and models are many, each model has a panel of its own, and what N processes reach at
best stands in all of them: the ceiling that the others are judged against.
"""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from scaling.analysis.curves import Curve
from scaling.analysis.laws import laws
from scaling.report.plots.panel import HEAD_ROOM, draw_curves, finish, highest, panels_of
from scaling.report.plots.plot import Plot, Subject, values_table
from scaling.report.plots.sheet import Sheet
from scaling.report.plots.style import FAINT, IDEAL_LINE, INK
from scaling.report.tables.grid import Grid
from scaling.study.questions import THROUGHPUT

IDEAL = "ideal: N × the median at N = 1"
# Columns of the tables behind other plots.
ELSEWHERE = frozenset({"speedup", "efficiency", "memory_mib"})
LAW_STEPS = 60
LAW_WIDTH = 0.9  # points: thinner than a curve, which it may lie on
LAW_BAND = 0.14  # opacity
ALIKE = 0.05  # ideal lines whose N = 1 differ by less would lie on each other: one is drawn


def draw(subject: Subject) -> Sheet:
    """The sheet; its panels have the same y axis, so loops can be compared."""
    label = _ceiling_label(subject) if subject.is_crowded else ""
    broad = [Line2D([], [], color=FAINT, lw=6, alpha=0.7, label=label)] if label else []
    sheet = subject.sheet(
        "throughput",
        IDEAL,
        subject.layout(),
        measures=("throughput",),
        also=[*broad, *law_key(subject)],
    )
    top = HEAD_ROOM * highest(subject.section.curves, "throughput")
    for axes, loop, model, heading in panels_of(sheet, subject):
        if subject.is_crowded:
            draw_ceiling(axes, subject, loop)
        draw_curves(axes, subject, loop, "throughput", model)
        draw_laws(axes, subject, loop, model)
        draw_ideals(axes, subject.on(loop, model), subject.colours)
        finish(axes, subject, heading, f"{subject.section.operation} / s", top)
    return sheet


def is_there(subject: Subject) -> bool:
    """Whether there is any valid run."""
    return subject.has("throughput")


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


def draw_laws(axes: Axes, subject: Subject, loop: str, model: str | None = None) -> None:
    """The laws of a loop's curves, of one `model` if one is named: thin lines with their bands.

    They end with the first and last N of their region. Nothing is drawn beyond: what a law says of
    other Ns is a guess, and the region's border is where the hardware changes.
    """
    for curve in subject.on(loop, model):
        for law in laws(curve):
            ns = np.linspace(law.workers[0], law.workers[-1], LAW_STEPS)
            line, low, high = law.at(ns)
            colour, name = subject.colours[curve.key.arm], law.region
            band = axes.fill_between(ns, low, high, color=colour, alpha=LAW_BAND, lw=0, zorder=1.8)
            band.set_gid(f"law-band-{name}")
            axes.plot(ns, line, color=INK, lw=LAW_WIDTH, zorder=4.5, gid=f"law-{name}")


def law_key(subject: Subject) -> list[Line2D]:
    """What the thin lines are; nothing if there is none."""
    names = dict.fromkeys(law.name for curve in subject.section.curves for law in laws(curve))
    if not names:
        return []
    label = f"law fitted inside a region ({', '.join(names)}) with its 95 % band"
    return [Line2D([], [], color=INK, lw=LAW_WIDTH, label=label)]


def _tables(subject: Subject, title: str) -> list[Grid]:
    """Everything measured but for what other plots show."""
    return values_table(subject, title, lambda measure: measure.shown.name not in ELSEWHERE)


PLOT = Plot("throughput", draw, is_there, _tables, "curves")
