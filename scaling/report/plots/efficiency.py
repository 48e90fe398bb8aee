"""Speed-up and efficiency side by side, a row for each loop: how much of each worker is left.

Where the curves are too many for that, efficiency alone, each model in a panel of its own.
"""

from collections.abc import Iterable

from matplotlib.axes import Axes

from scaling.analysis.curves import Curve
from scaling.report.plots.panel import HEAD_ROOM, draw_curves, finish, highest, panels_of
from scaling.report.plots.plot import Plot, Subject, columns_table
from scaling.report.plots.sheet import Layout, Sheet
from scaling.report.plots.style import IDEAL_LINE, QUIET

HEIGHT_IN = 2.3
SPEEDUP = "throughput ÷ that at N = 1"
NOISE = "A/A pairs: how far equal cells differ"


def draw(subject: Subject) -> Sheet:
    """The sheet: left, speed-up over N = 1 in the same block; right, the same over N."""
    if subject.is_crowded:
        return _draw_models(subject)
    ideal = "ideal: N times as fast, efficiency 1"
    layout = Layout(2 * len(subject.loops), columns=2, panel_in=HEIGHT_IN, own_y=True)
    sheet = subject.sheet("speed-up and efficiency", ideal, layout, measures=("speedup",))
    fastest = HEAD_ROOM * highest(subject.section.curves, "speedup")
    for (left, right), loop in zip(sheet.panels, subject.loops, strict=True):
        draw_curves(left, subject, loop, "speedup")
        draw_ideal(left, subject.section.curves)
        finish(left, subject, f"{loop}: speed-up", SPEEDUP, fastest)
        _draw_efficiency(right, subject, loop, f"{loop}: efficiency")
    return sheet


def is_there(subject: Subject) -> bool:
    """Whether anything is known of an N above 1, over N = 1: at 1 both are 1 by definition."""
    points = [point for curve in subject.section.curves for point in curve.points]
    return any(point.workers > 1 and point.speedup.n for point in points)


def _draw_models(subject: Subject) -> Sheet:
    """A row for each loop, a column for each model."""
    layout = subject.layout(HEIGHT_IN)
    sheet = subject.sheet("efficiency", "ideal: efficiency 1", layout, measures=("efficiency",))
    for axes, loop, model, heading in panels_of(sheet, subject):
        _draw_efficiency(axes, subject, loop, heading, model)
    return sheet


def _draw_efficiency(
    axes: Axes, subject: Subject, loop: str, heading: str, model: str | None = None
) -> None:
    curves = subject.section.curves
    draw_curves(axes, subject, loop, "efficiency", model)
    draw_ideal(axes, curves, rises=False)
    top = HEAD_ROOM * max(1.0, highest(curves, "efficiency"))
    finish(axes, subject, heading, "speed-up ÷ N", top)


def draw_ideal(axes: Axes, curves: Iterable[Curve], *, rises: bool = True) -> None:
    """N times as fast at N; without `rises`, 1."""
    last = max((n for curve in curves for n in curve.workers), default=1)
    ends = [1, last if rises else 1]
    axes.plot([1, last], ends, color=QUIET, lw=1.0, ls=IDEAL_LINE, zorder=2, gid="ideal")


PLOT = Plot("efficiency", draw, is_there, columns_table("speedup", "efficiency"), "curves")
