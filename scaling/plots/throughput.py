"""Throughput against N, a panel for each loop, with the line that perfect scaling would follow."""

import numpy as np
from matplotlib.axes import Axes

from scaling.analysis.curves import Curve
from scaling.plots.panel import HEAD_ROOM, draw_curves, finish, highest
from scaling.plots.sheet import Sheet
from scaling.plots.style import IDEAL_LINE
from scaling.plots.subject import Subject

ALIKE = 0.05  # ideal lines whose N = 1 differ by less would lie on each other: one is drawn


def draw(subject: Subject) -> Sheet:
    """The sheet; its panels have the same y axis, so loops can be compared."""
    loops = subject.loops
    layout = subject.a_panel_per_loop()
    sheet = subject.sheet("throughput", "ideal: N × the median at N = 1", layout)
    top = HEAD_ROOM * highest(subject.section.curves, "throughput")
    for place, (axes, loop) in enumerate(zip(sheet.all_panels, loops, strict=True)):
        draw_curves(axes, subject, loop, "throughput")
        draw_ideals(axes, subject.on(loop), subject.colours)
        label = f"{subject.section.operation} / s" if place % layout.columns == 0 else ""
        finish(axes, subject, loop, label, top)
    return sheet


def draw_ideals(axes: Axes, curves: list[Curve], colours: dict[str, str]) -> None:
    """N × the median at N = 1 of each curve; of curves that begin alike the first one's only."""
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
