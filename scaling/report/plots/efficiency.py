"""Speed-up and efficiency side by side, a row for each loop: how much of each worker is left.

Where the curves are too many for that, efficiency alone, each model in a panel of its own. Of
several machines it is speed-up: a panel for each, with its own borders, on one scale.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from matplotlib.axes import Axes

from scaling.analysis.curves import Curve
from scaling.analysis.statistics.estimate import bounds_kind
from scaling.base import formats
from scaling.base.vocabulary import THREADS
from scaling.report.plots.caption import warning
from scaling.report.plots.panel import HEAD_ROOM, draw_curves, finish, highest, panels_of
from scaling.report.plots.plot import MOST_COLUMNS, Plot, Subject, columns_table
from scaling.report.plots.sheet import Draw, Layout, Sheet, key_entries, new_sheet
from scaling.report.plots.style import IDEAL_LINE, QUIET, arm_colours
from scaling.report.tables.notes import machine_text

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


def machine_drawings(machines: Mapping[str, Mapping[str, Subject]]) -> Iterator[tuple[str, Draw]]:
    """A sheet for each section and loop with a speed-up, with a name for it.

    `machines` has what there is to draw of each, by name.
    """
    found: dict[str, dict[str, Subject]] = {}
    for label, subjects in machines.items():
        for name, subject in subjects.items():
            if subject.section.rate_per_s is None and is_there(subject):
                found.setdefault(name, {})[label] = subject
    for name, of in found.items():
        for loop in dict.fromkeys(loop for each in of.values() for loop in each.loops):
            yield f"{name}-{loop.replace('/', '-')}", partial(_draw_machines, of, loop)


def _draw_machines(of: Mapping[str, Subject], loop: str) -> Sheet:
    # The curves of all models would be too many for a panel.
    model = THREADS if any(each.is_crowded for each in of.values()) else None
    shown = {label: each.on(loop, model) for label, each in of.items()}
    curves = [curve for some in shown.values() for curve in some]
    first = next(iter(of.values()))
    arms = tuple(dict.fromkeys(curve.key.arm for curve in curves))
    models = list(dict.fromkeys(curve.key.model for curve in curves))
    kind = bounds_kind([point.speedup for curve in curves for point in curve.points])
    band = NOISE if any(each.noise("speedup") > 0 for each in of.values()) else ""
    told = {label: warning(each.results) for label, each in of.items()}
    warnings = (f"{label}: {words}." for label, words in told.items() if words)
    places = (f"{label}: {machine_text(each.results.study.machine)}." for label, each in of.items())
    sheet = new_sheet(
        f"{first.section.label}: speed-up on {formats.plural(len(of), 'machine')}",
        f"{first.section.sizing} sizing · {formats.listed(models)} · {loop}",
        key_entries(arm_colours(arms), models, kind, "ideal: N times as fast", band=band),
        " ".join([*warnings, *places]),
        Layout(len(of), min(len(of), MOST_COLUMNS), HEIGHT_IN),
    )
    top = HEAD_ROOM * highest(curves, "speedup")
    for axes, (label, each) in zip(sheet.all_panels, of.items(), strict=True):
        drawn = replace(each, beside=arms)
        draw_curves(axes, drawn, loop, "speedup", model)
        draw_ideal(axes, shown[label])
        finish(axes, drawn, label, SPEEDUP, top)
    return sheet


PLOT = Plot("efficiency", draw, is_there, columns_table("speedup", "efficiency"), "curves")
