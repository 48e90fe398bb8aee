"""Memory against throughput, N written at the points: what each configuration gives and costs.

Up is more work done, left is less memory. A curve runs through its Ns in order. A box around a
median is as wide and as high as the A/A spread. Where requests were also due at fixed rates, P99 at
the middle one stands beside.
"""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from scaling.analysis.curves import Curve, Point
from scaling.base import formats
from scaling.journal.record import Cell
from scaling.report.plots.latency import (
    bound_key,
    draw_latencies,
    estimates_ms,
    finish_latency_axis,
    limits_ms,
)
from scaling.report.plots.memory import axis_label
from scaling.report.plots.panel import (
    HEAD_ROOM,
    as_drawn,
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
from scaling.report.tables.rates import AtRate, Rated
from scaling.study.questions import P99, without_rate

MOST_IN_A_ROW = 2
SIZE, BESIDE = 7.5, (4, 3)  # an N: its letters, how far it is from its point, in points
HEIGHT = 10.0  # pixels of the drawing that it takes


def draw(subject: Subject) -> Sheet:
    """The sheet: a panel for each loop, or two, with P99 on the right."""
    loops, rated = subject.loops, subject.rated
    curves = _worth_showing(subject)
    at_rate = {curve.key: _at_middle(curve, rated) for curve in curves}
    rates = [at for at in at_rate.values() if at]
    p99s, beside = estimates_ms(rates, P99), bool(rates)
    columns = 2 if beside else min(len(loops), MOST_IN_A_ROW)
    layout = Layout(len(loops) * (1 + beside), columns, 3.4, own_y=beside)
    note = [Line2D([], [], ls="", label=_one_arm(subject))] if subject.is_crowded else []
    sheet = subject.sheet(
        f"throughput{' and P99' * beside} against memory, N at the points",
        "",
        layout,
        curves,
        measures=("memory", "throughput"),
        dots="",
        also=[*note, *bound_key(rates)],
    )
    most = [highest(curves, what) * HEAD_ROOM for what in ("memory", "throughput")]
    most[0] = max([most[0], *(each.point.memory.high * HEAD_ROOM for each in rates)])
    panels = iter(sheet.all_panels)
    written: list[tuple[Axes, list[Curve]]] = []
    for loop in loops:
        own = [curve for curve in curves if curve.key.loop == loop]
        axes = next(panels)
        for curve in own:
            _draw_noise(axes, curve, subject)
            _draw_curve(axes, curve, subject)
        finish_y(axes, f"{subject.section.operation} / s", most[1])
        axes.set_title(loop)
        written.append((axes, own))
        if rated and beside:
            axes = next(panels)
            for curve in own:
                if at := at_rate[curve.key]:
                    _draw_p99(axes, curve.key, at, subject)
            name = f"P99 at {formats.number(rated.middle_rate_per_s)}/s"
            finish_latency_axis(axes, f"{name}, ms", limits_ms(p99s, []))
            axes.set_title(f"{loop}: {name}, N = {rated.headline_n}")
    for axes in sheet.all_panels:
        axes.set_xlim(0, most[0])
        axes.set_xlabel(axis_label(subject))
        round_ticks(axes.xaxis)
    sheet.lay_out()
    for axes, own in written:
        _write_workers(axes, own)
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


def _known(curve: Curve) -> list[Point]:
    """The points of a curve whose memory and throughput are known."""
    return [point for point in curve.points if point.throughput.n and point.memory.n]


def _at_middle(curve: Curve, rated: Rated | None) -> AtRate | None:
    """The configuration at the middle rate and the largest N with a core for each worker, if its
    P99 and memory are known there: fewer workers may not keep up.
    """
    if rated is None:
        return None
    ours = without_rate(curve.key), rated.headline_n
    line = next((each for each in rated.lines if (each.key, each.workers) == ours), None)
    at = line.at(rated.middle_rate_per_s) if line else None
    return at if at and at.point.memory.n and at.point.figures[P99].n else None


def _draw_p99(axes: Axes, key: Cell, at: AtRate, subject: Subject) -> None:
    memory = at.point.memory
    draw_latencies(
        axes,
        [memory.point],
        estimates_ms([at], P99),
        [at.is_bound],
        key,
        subject.colours[key.arm],
        [f"N = {at.point.workers}, {with_unit(memory)}"],
    )


def _draw_curve(axes: Axes, curve: Curve, subject: Subject) -> None:
    """Medians joined in the order of N, bars both ways, N beside each."""
    colour = subject.colours[curve.key.arm]
    points = _known(curve)
    if not points:
        return
    x, y = [point.memory for point in points], [point.throughput for point in points]
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
    words = [
        median_words(
            f"{configuration(curve.key)}, N = {point.workers}, {with_unit(point.memory)}",
            as_drawn(subject, "throughput", point.throughput),
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
    every = [_known(curve) for curve in curves]
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


PLOT = Plot("trade", draw, is_there, columns_table("throughput_per_s", "memory_mib"), "processes")
