"""Speed-up and efficiency side by side, a row for each loop: how much of each worker is left."""

from scaling.plots.panel import HEAD_ROOM, draw_curves, finish, highest
from scaling.plots.sheet import Layout, Sheet
from scaling.plots.style import IDEAL_LINE, QUIET
from scaling.plots.subject import Subject


def draw(subject: Subject) -> Sheet:
    """The sheet: left, speed-up over N = 1 in the same block; right, the same over N."""
    loops = subject.loops
    ideal = "ideal: N times as fast, efficiency 1"
    layout = Layout(2 * len(loops), columns=2, panel_in=2.3, labels_everywhere=True)
    sheet = subject.sheet("speed-up and efficiency", ideal, layout)
    curves = subject.section.curves
    fastest = HEAD_ROOM * highest(curves, "speedup")
    best = HEAD_ROOM * max(1.0, highest(curves, "efficiency"))
    last = max(n for curve in curves for n in curve.workers)
    for (left, right), loop in zip(sheet.panels, loops, strict=True):
        draw_curves(left, subject, loop, "speedup")
        draw_curves(right, subject, loop, "efficiency")
        for axes, at_last in ((left, last), (right, 1)):
            ends = [1, last], [1, at_last]
            axes.plot(*ends, color=QUIET, lw=1.0, ls=IDEAL_LINE, zorder=2, gid="ideal")
        finish(left, subject, f"{loop}: speed-up", "throughput ÷ that at N = 1", fastest)
        finish(right, subject, f"{loop}: efficiency", "speed-up ÷ N", best)
    return sheet
