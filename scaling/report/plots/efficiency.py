"""Speed-up and efficiency side by side, a row for each loop: how much of each worker is left.

Where the curves are too many for that, efficiency alone, each model in a panel of its own.
"""

from matplotlib.axes import Axes

from scaling.report.plots.panel import HEAD_ROOM, draw_curves, finish, highest, panels_of_models
from scaling.report.plots.plot import Plot, columns_table
from scaling.report.plots.sheet import Layout, Sheet
from scaling.report.plots.style import IDEAL_LINE, QUIET
from scaling.report.plots.subject import Subject


def draw(subject: Subject) -> Sheet:
    """The sheet: left, speed-up over N = 1 in the same block; right, the same over N."""
    if subject.is_crowded:
        return _draw_models(subject)
    loops = subject.loops
    ideal = "ideal: N times as fast, efficiency 1"
    layout = Layout(2 * len(loops), columns=2, panel_in=2.3, labels_everywhere=True)
    drawn = subject.estimates("speedup", "efficiency")
    noise = ("speedup",)
    sheet = subject.sheet("speed-up and efficiency", ideal, layout, drawn=drawn, noise=noise)
    fastest = HEAD_ROOM * highest(subject.section.curves, "speedup")
    best = _best(subject)
    for (left, right), loop in zip(sheet.panels, loops, strict=True):
        draw_curves(left, subject, loop, "speedup")
        draw_curves(right, subject, loop, "efficiency")
        _draw_ideal(left, subject, rises=True)
        _draw_ideal(right, subject, rises=False)
        finish(left, subject, f"{loop}: speed-up", "throughput ÷ that at N = 1", fastest)
        finish(right, subject, f"{loop}: efficiency", "speed-up ÷ N", best)
    return sheet


def is_there(subject: Subject) -> bool:
    """Whether anything is known of an N above 1, over N = 1: at 1 both are 1 by definition."""
    points = [point for curve in subject.section.curves for point in curve.points]
    return any(point.workers > 1 and point.speedup.n for point in points)


def _draw_models(subject: Subject) -> Sheet:
    """A row for each loop, a column for each model."""
    loops, models = subject.loops, subject.models
    layout = Layout(len(loops) * len(models), len(models), panel_in=2.3)
    drawn = subject.estimates("efficiency")
    ideal = "ideal: efficiency 1"
    sheet = subject.sheet("efficiency", ideal, layout, drawn=drawn, noise=("efficiency",))
    best = _best(subject)
    for axes, loop, model, is_first in panels_of_models(sheet, subject):
        draw_curves(axes, subject, loop, "efficiency", model)
        _draw_ideal(axes, subject, rises=False)
        finish(axes, subject, f"{loop}: {model}", "speed-up ÷ N" if is_first else "", best)
    return sheet


def _best(subject: Subject) -> float:
    return HEAD_ROOM * max(1.0, highest(subject.section.curves, "efficiency"))


def _draw_ideal(axes: Axes, subject: Subject, *, rises: bool) -> None:
    last = max(n for curve in subject.section.curves for n in curve.workers)
    ends = [1, last if rises else 1]
    axes.plot([1, last], ends, color=QUIET, lw=1.0, ls=IDEAL_LINE, zorder=2, gid="ideal")


PLOT = Plot("efficiency", draw, is_there, "curves", columns_table("speedup", "efficiency"))
