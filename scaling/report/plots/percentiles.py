"""Percentiles of latency side by side: each configuration at the same rate, a panel for each N.

The x axis is 1 / (1 − share), logarithmic: one request in ten (90), in a hundred (99) or in a
thousand (99.9) takes at least as long as the line says there.
"""

from itertools import product

from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from scaling.analysis.table.latency import PERCENTILES, SHARES
from scaling.base import formats
from scaling.report.plots.latency import (
    MS_PER_S,
    OBJECTIVE_LINE,
    draw_latencies,
    estimates_ms,
    few,
    finish_latency_axis,
    limits_ms,
    load_key,
)
from scaling.report.plots.plot import LoadSubject, Plot
from scaling.report.plots.sheet import Layout, Sheet
from scaling.report.plots.style import INK
from scaling.report.tables.rates import at_rate, percentile_grids

NAMES = [name.removeprefix("P") for name in PERCENTILES.values()]
PLACES = {
    column: 1 / (1 - share) for column, share in zip(PERCENTILES, SHARES.values(), strict=True)
}

OBJECTIVE_REACH = 1.8  # factor of the x axis, to either side


def draw(subject: LoadSubject) -> Sheet:
    """The sheet: a row for each loop; of many Ns the first, the middle one and the last."""
    rated = subject.rated
    ns = few(rated.workers)
    rate = rated.middle_rate_per_s
    every = list(product(rated.loops, ns))
    shown = [(loop, n, at_rate(rated.on(loop, n), rate)) for loop, n in every]
    drawn = [at for _, _, few_lines in shown for _, at in few_lines]
    values = [value for column in PLACES for value in estimates_ms(drawn, column)]
    layout = Layout(len(every), len(ns), panel_in=3.0)
    what = f"percentiles of latency at {formats.number(rate)} {rated.sent}/s"
    key = load_key(subject, drawn)
    sheet = subject.sheet(what, "", layout, drawn=values, dots="", also=key)
    objectives = [each for several in subject.objectives_s.values() for each in several]
    limits = limits_ms(values, objectives)
    for axes, (loop, n, lines) in zip(sheet.all_panels, shown, strict=True):
        for line, at in lines:
            draw_latencies(
                axes,
                list(PLACES.values()),
                [value for column in PLACES for value in estimates_ms([at], column)],
                [at.is_bound] * len(PLACES),
                line.key,
                subject.colours[line.key.arm],
                [f"N = {n}, P{name}" for name in NAMES],
            )
        for column, several_s in subject.objectives_s.items():
            _draw_objectives(axes, PLACES[column], several_s)
        finish_latency_axis(axes, "latency, ms", limits)
        _finish_shares(axes)
        several = f"{loop}: " if len(rated.loops) > 1 else ""
        axes.set_title(f"{several}N = {n}")
    return sheet


def is_there(subject: LoadSubject) -> bool:
    """Whether two percentiles of any configuration are known at the middle rate."""
    rate = subject.rated.middle_rate_per_s
    return any(
        sum(bool(at.point.figures[column].n) for column in PLACES) > 1
        for _, at in at_rate(subject.rated.lines, rate)
    )


def _draw_objectives(axes: Axes, place: float, objectives_s: list[float]) -> None:
    """A short dashed line at the percentile that an objective is for."""
    for seconds in objectives_s:
        axes.hlines(
            seconds * MS_PER_S,
            place / OBJECTIVE_REACH,
            place * OBJECTIVE_REACH,
            color=INK,
            lw=1.2,
            ls=OBJECTIVE_LINE,
            zorder=2,
            gid="objective",
        )


def _finish_shares(axes: Axes) -> None:
    """The percentiles on a logarithmic axis."""
    axes.set_xscale("log")
    places = list(PLACES.values())
    axes.set_xlim(places[0] / 1.4, places[-1] * 1.4)
    axes.set_xticks(places, NAMES)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("percentile of requests")
    axes.tick_params(axis="x", labelsize=8)


PLOT = Plot("percentiles", draw, is_there, lambda subject, _: percentile_grids(subject.rated))
