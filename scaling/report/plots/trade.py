"""Memory against throughput, N written at the points: what each configuration gives and costs.

Up is more work done, left is less memory. A curve runs through its Ns in order. A box around a
median is as wide and as high as the A/A spread.
"""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from scaling.analysis.curves import Curve
from scaling.base import formats
from scaling.report.plots.memory import axis_label
from scaling.report.plots.panel import (
    HEAD_ROOM,
    configuration,
    finish_y,
    highest,
    median_words,
    reaches,
    round_ticks,
    with_unit,
    write_beside,
)
from scaling.report.plots.plot import Plot, Subject, columns_table
from scaling.report.plots.sheet import Layout, Sheet, width_in
from scaling.report.plots.style import BAND_ALPHA, BEHIND_TEXT, DPI, line, marker_style
from scaling.report.plots.svg import say

MOST_IN_A_ROW = 2
SIZE, BESIDE = 7.5, (4, 3)  # an N: its letters, how far it is from its point, in points
HEIGHT = 10.0  # pixels of the drawing that it takes


def draw(subject: Subject) -> Sheet:
    """The sheet: a panel for each loop, with the same axes."""
    loops = subject.loops
    layout = Layout(len(loops), min(len(loops), MOST_IN_A_ROW), panel_in=3.4)
    curves = _worth_showing(subject)
    note = [Line2D([], [], ls="", label=_one_arm(subject))] if subject.is_crowded else []
    sheet = subject.sheet(
        "throughput against memory, N at the points",
        "",
        layout,
        curves,
        drawn=subject.estimates("throughput", "memory", curves=curves),
        dots="",
        noise=("memory", "throughput"),
        also=note,
    )
    most = [highest(curves, what) * HEAD_ROOM for what in ("memory", "throughput")]
    for axes, loop in zip(sheet.all_panels, loops, strict=True):
        for curve in curves:
            if curve.key.loop == loop:
                _draw_noise(axes, curve, subject)
                _draw_curve(axes, curve, subject)
        axes.set_xlim(0, most[0])
        axes.set_xlabel(axis_label(subject))
        round_ticks(axes.xaxis)
        finish_y(axes, f"{subject.section.operation} / s", most[1])
        axes.set_title(loop)
    sheet.lay_out()
    for axes, loop in zip(sheet.all_panels, loops, strict=True):
        _write_workers(axes, [curve for curve in curves if curve.key.loop == loop])
    return sheet


def is_there(subject: Subject) -> bool:
    """Whether there is more than one curve to choose from, and their memory is known."""
    return any(len(subject.on(loop)) > 1 for loop in subject.loops) and subject.has("memory")


def _one_arm(subject: Subject) -> str:
    """`processes and interpreters: the fastest arm only`."""
    others = formats.listed(model for model in subject.models if model != "threads")
    return f"{others}: the fastest arm only"


def _worth_showing(subject: Subject) -> list[Curve]:
    """All curves; where they are too many, of other models than threads the fastest arm only."""
    if not subject.is_crowded:
        return subject.section.curves
    fastest = {
        max(curves, key=_peak).key
        for loop in subject.loops
        for model in subject.models
        if model != "threads" and (curves := subject.on(loop, model))
    }
    return [c for c in subject.section.curves if c.key.model == "threads" or c.key in fastest]


def _peak(curve: Curve) -> float:
    return max((point.throughput.point for point in curve.points if point.throughput.n), default=0)


def _draw_curve(axes: Axes, curve: Curve, subject: Subject) -> None:
    """Medians joined in the order of N, bars both ways, N beside each."""
    colour = subject.colours[curve.key.arm]
    points = [point for point in curve.points if point.throughput.n and point.memory.n]
    if not points:
        return
    x, y = ([getattr(point, what) for point in points] for what in ("memory", "throughput"))
    marks, _, _ = axes.errorbar(
        [value.point for value in x],
        [value.point for value in y],
        xerr=reaches(x),
        yerr=reaches(y),
        color=colour,
        ls=line(curve.key.model),
        lw=1.5,
        **marker_style(curve.key.loop, curve.key.model, colour),
        elinewidth=0.9,
        zorder=4,
        gid=f"{curve.key.arm} {curve.key.model}",
    )
    unit = f"{subject.section.operation} / s"
    words = [
        median_words(
            f"{configuration(curve.key)}, N = {point.workers}, {with_unit(point.memory)}",
            point.throughput.scaled(1, unit),
        )
        for point in points
    ]
    say(marks, words)


def _draw_noise(axes: Axes, curve: Curve, subject: Subject) -> None:
    """A box around each median: the A/A band of both measures."""
    floors = [subject.noise(what) for what in ("memory", "throughput")]
    if not np.isfinite(floors).all():
        return
    across, up = (1 + floor for floor in floors)
    for point in curve.points:
        if point.throughput.n and point.memory.n:
            x, y = point.memory.point, point.throughput.point
            box = Rectangle(
                (x / across, y / up),
                x * across - x / across,
                y * up - y / up,
                color=subject.colours[curve.key.arm],
                alpha=BAND_ALPHA,
                lw=0,
                zorder=2.5,
                gid="noise",
            )
            axes.add_patch(box)


def _write_workers(axes: Axes, curves: list[Curve]) -> None:
    """N beside the points: of each curve first the last, then the highest; not where it would be
    written over another, or over a point.
    """
    every = [[p for p in c.points if p.throughput.n and p.memory.n] for c in curves]
    points = [point for of_curve in every for point in of_curve]
    ends = [of_curve[-1] for of_curve in every if of_curve]
    order = sorted(points, key=lambda p: (p not in ends, -p.throughput.point))
    places = {id(p): (p.memory.point, p.throughput.point) for p in points}
    taken = [tuple(axes.transData.transform(place)) for place in places.values()]
    for point in order:
        text, place = str(point.workers), places[id(point)]
        x, y = axes.transData.transform(place)
        room = (width_in(text, SIZE) * DPI + BESIDE[0], HEIGHT)
        if any(
            0 < left - x < room[0] and abs(low - y - BESIDE[1]) < room[1] for left, low in taken
        ):
            continue
        taken += [(x + room[0] * share, y + BESIDE[1]) for share in (0.3, 0.6, 1)]
        write_beside(
            axes, text, place, BESIDE, va="baseline", fontsize=SIZE, bbox=BEHIND_TEXT, gid="N"
        )


PLOT = Plot("trade", draw, is_there, "processes", columns_table("throughput_per_s", "memory_mib"))
