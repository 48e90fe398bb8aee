"""Latency against the offered rate, a line for each configuration, a panel for each N."""

import math
from collections.abc import Sequence

from matplotlib.axes import Axes

from scaling.report.plots.lettering import width_in
from scaling.report.plots.load_subject import LoadSubject
from scaling.report.plots.panel import short
from scaling.report.plots.places import Places
from scaling.report.plots.plot import LoadPlot
from scaling.report.plots.rates import (
    ROWS,
    LatencyPanels,
    any_known,
    draw_latencies,
    estimates_ms,
    few,
)
from scaling.report.plots.regions import NAME_SIZE
from scaling.report.plots.sheet import Sheet, panel_in
from scaling.report.plots.style import BORDER, QUIET, REGION_SHADES
from scaling.report.tables.questions.rates import rate_grids
from scaling.report.tables.rated import Line


def draw(subject: LoadSubject) -> Sheet:
    """The sheet: P99 above P50; of many Ns the first, the middle one and the last."""
    rated = subject.rated
    ns = few(rated.workers)
    drawn = [each for line in rated.lines if line.workers in ns for each in line.at_rates]
    panels = LatencyPanels(subject, "latency against the offered rate", ns, drawn)
    pad = 17 if any(each.is_bound for each in drawn) else 7
    for axes, loop, column, n in panels.each(lambda n: f", N = {n}", pad):
        own = rated.on(loop, n)
        for line in own:
            draw_latencies(
                axes,
                [each.rate_per_s for each in line.at_rates],
                estimates_ms(line.at_rates, column),
                [each.is_bound for each in line.at_rates],
                line.key,
                subject.about.colours[line.key.arm],
            )
        _finish_rates(axes, rated.rates_per_s, panels.columns)
        _shade(axes, own, rated.rates_per_s, panel_in(panels.columns))
    return panels.sheet


def is_there(subject: LoadSubject) -> bool:
    """Whether any latency is known, and there are several rates."""
    return len(subject.rated.rates_per_s) > 1 and any_known(
        subject.rated.lines, [column for column, _ in ROWS]
    )


def _finish_rates(axes: Axes, rates_per_s: Sequence[float], columns: int) -> None:
    """The offered rates on a logarithmic axis, each at its place."""
    labels = [short(float(f"{rate:.3g}")) for rate in rates_per_s]
    placed = Places(list(rates_per_s), labels, "log", joined=True, room_in=panel_in(columns))
    placed.draw(axes, "offered requests / s")


def _shade(
    axes: Axes, lines: Sequence[Line], rates_per_s: Sequence[float], axes_width_in: float
) -> None:
    """Grey from the rate on at which the first configuration falls behind, darker from the last."""
    begins = [first for line in lines if (first := _behind_from(line)) is not None]
    if not begins:
        return
    left, right = axes.get_xlim()
    somewhere = _border(min(begins), rates_per_s, left)
    everywhere = _border(max(begins), rates_per_s, left) if len(begins) == len(lines) else right
    spans = [
        (somewhere, everywhere, "smt", ("some fall behind", "some", "")),
        (everywhere, right, "oversubscribed", ("all fall behind", "all", "")),
    ]
    for begin, end, shade, names in spans:
        if begin >= end:
            continue
        axes.axvspan(begin, end, color=REGION_SHADES[shade], lw=0, zorder=0, gid=f"behind-{shade}")
        if begin > left:
            axes.axvline(begin, color=BORDER, lw=0.8, zorder=0.5)
        room_in = axes_width_in * math.log(end / begin) / math.log(right / left)
        axes.text(
            math.sqrt(begin * end),
            1.012,
            next(name for name in names if width_in(name, NAME_SIZE) <= room_in or not name),
            transform=axes.get_xaxis_transform(),
            ha="center",
            va="bottom",
            fontsize=NAME_SIZE,
            color=QUIET,
        )


def _behind_from(line: Line) -> float | None:
    """The rate from which on it is behind; None where it is not behind at the last."""
    begin = None
    for each in reversed(line.at_rates):
        if not each.is_bound:
            break
        begin = each.rate_per_s
    return begin


def _border(rate: float, rates_per_s: Sequence[float], left: float) -> float:
    """Midway, on a logarithmic axis, between a rate and the one below it."""
    place = rates_per_s.index(rate)
    return math.sqrt(rate * rates_per_s[place - 1]) if place else left


PLOT = LoadPlot("latency", draw, is_there, lambda subject: rate_grids(subject.rated))
