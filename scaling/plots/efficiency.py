"""Speed-up and efficiency side by side: how much of each worker is left.

A row for each loop, and for each model where the curves are too many for one.
"""

from scaling.plots.panel import HEAD_ROOM, draw_curves, finish, highest
from scaling.plots.sheet import Layout, Sheet
from scaling.plots.style import IDEAL_LINE, QUIET
from scaling.plots.subject import Subject


def draw(subject: Subject) -> Sheet:
    """The sheet: left, speed-up over N = 1 in the same block; right, the same over N."""
    rows = [
        (loop, model)
        for loop in subject.loops
        for model in (subject.models if subject.is_crowded else [None])
    ]
    ideal = "ideal: N times as fast, efficiency 1"
    layout = Layout(2 * len(rows), columns=2, panel_in=2.3, labels_everywhere=True)
    sheet = subject.sheet("speed-up and efficiency", ideal, layout)
    curves = subject.section.curves
    fastest = HEAD_ROOM * highest(curves, "speedup")
    best = HEAD_ROOM * max(1.0, highest(curves, "efficiency"))
    last = max(n for curve in curves for n in curve.workers)
    for (left, right), (loop, model) in zip(sheet.panels, rows, strict=True):
        name = f"{loop}, {model}" if model else loop
        draw_curves(left, subject, loop, "speedup", model)
        draw_curves(right, subject, loop, "efficiency", model)
        for axes, at_last in ((left, last), (right, 1)):
            ends = [1, last], [1, at_last]
            axes.plot(*ends, color=QUIET, lw=1.0, ls=IDEAL_LINE, zorder=2, gid="ideal")
        finish(left, subject, f"{name}: speed-up", "throughput ÷ that at N = 1", fastest)
        finish(right, subject, f"{name}: efficiency", "speed-up ÷ N", best)
    return sheet
