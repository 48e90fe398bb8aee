"""Latency under load: against the offered rate, a panel for each N; against N, a panel for each
rate. P99 is above P50, and there is a line for each configuration.

A filled mark is a median; an open one is a lower bound of it, because the server fell behind. All
workers together are offered the same rate: against N one sees what more of them are worth to a
client.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, product
from operator import attrgetter
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from scaling.analysis.statistics.estimate import Estimate
from scaling.base.formats import number
from scaling.journal.record import Cell
from scaling.report.plots.borders import name_above
from scaling.report.plots.panel import (
    configuration,
    finish_workers,
    median_words,
    reaches,
    short,
)
from scaling.report.plots.plot import MOST_COLUMNS, LoadSubject, Plot
from scaling.report.plots.sheet import Layout, Sheet, panel_width_in
from scaling.report.plots.style import (
    BORDER,
    FAINT,
    INK,
    MARKERS,
    OTHER_MARKER,
    QUIET,
    REGION_SHADES,
)
from scaling.report.plots.style import line as linestyle
from scaling.report.plots.svg import say
from scaling.report.plots.sweep import Places
from scaling.report.tables.grid import Grid
from scaling.report.tables.rates import AtRate, Line, Rated, at_rate, rate_grids

MS_PER_S = 1e3
ROWS = (("latency_p99_s", "P99"), ("latency_p50_s", "P50"))
HEAD_ROOM, FOOT_ROOM = 1.35, 1.25  # factors
OBJECTIVE_LINE = (0, (6, 2))
EMPTY_SIZE = 8.5  # points
FEW_DECADES = 1.5  # up to here a logarithmic axis has marks between its powers of ten, too


def draw(subject: LoadSubject) -> Sheet:
    """The sheet: P99 above P50; of many Ns the first, the middle one and the last."""
    rated = subject.rated

    def on(loop: str, n: int) -> dict[Cell, list[AtRate]]:
        return {line.key: line.at_rates for line in rated.on(loop, n)}

    def finish(axes: Axes, loop: str, n: int) -> None:
        _finish_rates(axes, rated)
        _shade(axes, rated.on(loop, n), rated.rates_per_s)

    across = {n: f", N = {n}" for n in few(rated.workers)}
    title = "latency against the offered rate"
    return _sheet(subject, title, across, on, attrgetter("rate_per_s"), finish)


def is_there(subject: LoadSubject) -> bool:
    """Whether any latency is known, and there are several rates."""
    return len(subject.rated.rates_per_s) > 1 and any_known(
        subject.rated.lines, [column for column, _ in ROWS]
    )


def _sheet[T](
    subject: LoadSubject,
    what: str,
    across: Mapping[T, str],
    on: Callable[[str, T], Mapping[Cell, Sequence[AtRate]]],
    x: Callable[[AtRate], float],
    finish: Callable[[Axes, str, T], None],
) -> Sheet:
    """P99 above P50, with a panel for each loop and each of `across`: Ns, or rates, with the words
    that end its heading.

    `on` has the configurations on a panel, `x` is where on its x axis each one of them is, and
    `finish` makes that axis. Each row has one y axis.
    """
    rated = subject.rated
    rows = [row for row in ROWS if any_known(rated.lines, [row[0]])]
    every = list(product(rated.loops, rows, across))
    pairs = product(rated.loops, across)
    drawn = [each for loop, at in pairs for several in on(loop, at).values() for each in several]
    values = {column: estimates_ms(drawn, column) for column, _ in rows}
    alone = len(across) == 1
    layout = Layout(len(every), len(rows) if alone else len(across), own_y=alone)
    key = load_key(subject, drawn)
    bars = chain.from_iterable(values.values())
    sheet = subject.sheet(what, "", layout, drawn=bars, dots="", also=key)
    for axes, (loop, (column, name), at) in zip(sheet.all_panels, every, strict=True):
        of_loop = f"{loop}: " if len(rated.loops) > 1 else ""
        axes.set_title(f"{of_loop}{name}{across[at]}")
        for cell, found in on(loop, at).items():
            draw_latencies(
                axes,
                [x(each) for each in found],
                estimates_ms(found, column),
                [each.is_bound for each in found],
                cell,
                subject.colours[cell.arm],
                [
                    f"N = {each.point.workers}, {number(each.rate_per_s)} {rated.sent} / s"
                    for each in found
                ],
            )
        finish(axes, loop, at)
        if not axes.containers:
            _say_why_empty(axes, name)
        objectives = subject.objectives_s.get(column, [])
        draw_objectives(axes, objectives)
        finish_latency_axis(axes, f"{name}, ms", limits_ms(values[column], objectives))
    return sheet


def _finish_rates(axes: Axes, rated: Rated) -> None:
    """The offered rates on a logarithmic axis, each at its place."""
    labels = [short(float(f"{rate:.3g}")) for rate in rated.rates_per_s]
    room_in = panel_width_in(axes)
    placed = Places(list(rated.rates_per_s), labels, "log", joined=True, room_in=room_in)
    placed.draw(axes, f"offered {rated.sent} / s")


def _shade(axes: Axes, lines: Sequence[Line], rates_per_s: Sequence[float]) -> None:
    """Grey from the rate on at which the first configuration falls behind, darker from the last."""
    begins = [first for line in lines if (first := _behind_from(line)) is not None]
    if not begins:
        return
    left, right = axes.get_xlim()
    somewhere = _border(min(begins), rates_per_s, left)
    everywhere = _border(max(begins), rates_per_s, left) if len(begins) == len(lines) else right
    spans = [
        (somewhere, everywhere, "smt", ("some fall behind", "some")),
        (everywhere, right, "oversubscribed", ("all fall behind", "all")),
    ]
    for begin, end, shade, names in spans:
        if begin >= end:
            continue
        axes.axvspan(begin, end, color=REGION_SHADES[shade], lw=0, zorder=0, gid=f"behind-{shade}")
        if begin > left:
            axes.axvline(begin, color=BORDER, lw=0.8, zorder=0.5)
        name_above(axes, begin, end, names)


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


def draw_by_workers(subject: LoadSubject) -> Sheet:
    """The sheet: P99 above P50; of many rates the lowest, the middle one and the highest."""
    rated = subject.rated

    def on(loop: str, rate: float) -> dict[Cell, list[AtRate]]:
        found: dict[Cell, list[AtRate]] = defaultdict(list)
        for line, at in at_rate(rated.lines, rate):
            if line.key.loop == loop:
                found[line.key].append(at)
        return found

    across = {rate: f" at {number(rate)}/s" for rate in few(rated.rates_per_s)}
    return _sheet(
        subject,
        "latency against N",
        across,
        on,
        attrgetter("point.workers"),
        lambda axes, _loop, _rate: finish_workers(axes, subject),
    )


def is_there_by_workers(subject: LoadSubject) -> bool:
    """Whether latencies are known at several Ns."""
    known = {
        line.workers
        for line in subject.rated.lines
        if any_known([line], [column for column, _ in ROWS])
    }
    return len(known) > 1


def _say_why_empty(axes: Axes, name: str) -> None:
    words = f"{name} not known:\ntoo few requests in valid runs"
    place: dict[str, Any] = {"ha": "center", "va": "center", "transform": axes.transAxes}
    axes.text(0.5, 0.5, words, color=QUIET, fontsize=EMPTY_SIZE, gid="empty", **place)


def estimates_ms(at: Iterable[AtRate], column: str) -> list[Estimate]:
    """A latency of each, in ms; those that are not known have no value."""
    return [each.point.figures[column].scaled(MS_PER_S, "ms") for each in at]


def draw_latencies(
    axes: Axes,
    x: Sequence[float],
    values: Sequence[Estimate],
    bounds: Sequence[bool],
    key: Cell,
    colour: str,
    places: Sequence[str],
) -> None:
    """Medians in ms with their bars, joined; those that are lower `bounds` open.

    Each says its configuration and which of the `places` it is at.
    """
    known = [place for place, value in enumerate(values) if value.n]
    if not known:
        return
    at = [x[place] for place in known]
    few = [values[place] for place in known]
    middle = [value.point for value in few]
    style: dict[str, Any] = {"color": colour, "zorder": 4}
    axes.errorbar(
        at,
        middle,
        yerr=reaches(few),
        ls=linestyle(key.model),
        lw=1.5,
        elinewidth=0.9,
        capsize=2.0,
        capthick=0.9,
        label=f"{key.arm} {key.model}",
        **style,
    )
    for is_bound in (False, True):
        shown = [place for place, own in enumerate(known) if bounds[own] is is_bound]
        x_y = [at[place] for place in shown], [middle[place] for place in shown]
        (marks,) = axes.plot(*x_y, **_mark(key.loop, colour, is_bound=is_bound))
        words = [
            median_words(
                f"{configuration(key)}, {places[known[place]]}", few[place], is_bound=is_bound
            )
            for place in shown
        ]
        say(marks, words)


def _mark(loop: str, colour: str, *, is_bound: bool) -> dict[str, Any]:
    """A median's mark: filled with a white rim, or open."""
    own = {"ms": 5.0, "mfc": "white", "mec": colour, "mew": 1.2, "gid": "bound"}
    if not is_bound:
        own = {"ms": 4.6, "mfc": colour, "mec": "white", "mew": 0.7, "gid": "median"}
    return {"ls": "", "marker": MARKERS.get(loop, OTHER_MARKER), "zorder": 5, **own}


def draw_objectives(axes: Axes, objectives_s: Iterable[float]) -> None:
    """A dashed line at each latency objective."""
    for seconds in objectives_s:
        axes.axhline(
            seconds * MS_PER_S, color=INK, lw=1.0, ls=OBJECTIVE_LINE, zorder=2, gid="objective"
        )


def finish_latency_axis(axes: Axes, label: str, limits: tuple[float, float]) -> None:
    """A logarithmic y axis in ms."""
    low, high = limits
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    few = np.log10(high / low) < FEW_DECADES
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_ylabel(label)


def limits_ms(values: Iterable[Estimate], objectives_s: Iterable[float]) -> tuple[float, float]:
    """The lowest and the highest of some latencies in ms, their objectives among them."""
    known = [value for value in values if value.n and value.point > 0]
    ends = [value.low for value in known if value.low > 0] + [value.high for value in known]
    return with_room([*ends, *(seconds * MS_PER_S for seconds in objectives_s)])


def with_room(every_ms: Sequence[float]) -> tuple[float, float]:
    """The limits of a logarithmic axis with all of these on it, with room on either side."""
    return (min(every_ms) / FOOT_ROOM, max(every_ms) * HEAD_ROOM) if every_ms else (0.1, 10.0)


def load_key(subject: LoadSubject, drawn: Iterable[AtRate]) -> list[Line2D]:
    """What the open marks and the dashed lines are; nothing of what is not there."""
    key = bound_key(drawn)
    for column, name in ROWS:
        for seconds in subject.objectives_s.get(column, ()):
            label = f"objective: {name} < {seconds * MS_PER_S:g} ms"
            key.append(Line2D([], [], color=INK, lw=1.0, ls=OBJECTIVE_LINE, label=label))
    return key


def bound_key(drawn: Iterable[AtRate]) -> list[Line2D]:
    """What the open marks are, if there are any."""
    if not any(each.is_bound for each in drawn):
        return []
    label = "lower bound: the server fell behind"
    mark: dict[str, Any] = {"marker": "o", "mfc": "white", "mec": QUIET, "mew": 1.2, "ms": 5.0}
    return [Line2D([], [], color=FAINT, ls="", label=label, **mark)]


def few[T](values: Sequence[T]) -> list[T]:
    """Of many the first, the middle one and the last: as many panels as stand side by side."""
    if len(values) <= MOST_COLUMNS:
        return list(values)
    return [values[0], values[(len(values) - 1) // 2], values[-1]]


def any_known(lines: Iterable[Line], columns: Iterable[str]) -> bool:
    """Whether any of these latencies is known of any configuration."""
    columns = list(columns)
    return any(
        each.point.figures[column].n for one in lines for each in one.at_rates for column in columns
    )


def _tables(subject: LoadSubject, title: str) -> list[Grid]:
    """The latencies at every rate."""
    del title
    return rate_grids(subject.rated)


PLOT = Plot("latency", draw, is_there, _tables)
BY_WORKERS = Plot("latency-by-workers", draw_by_workers, is_there_by_workers, _tables)
