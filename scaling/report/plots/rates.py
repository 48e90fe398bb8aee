"""What the plots of latency share: panels, lines with bounds on a logarithmic axis, objectives.

A filled mark is a median; an open one is a lower bound of it, because the server fell behind.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, product
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from scaling.analysis.statistics.estimate import Estimate
from scaling.journal.record import Cell
from scaling.report.plots.load_subject import LoadSubject
from scaling.report.plots.panel import reaches, short
from scaling.report.plots.sheet import Layout
from scaling.report.plots.style import (
    FAINT,
    INK,
    MARKERS,
    OTHER_MARKER,
    QUIET,
    line,
)
from scaling.report.plots.subject import MOST_COLUMNS
from scaling.report.tables.rated import AtRate, Line

MS_PER_S = 1e3
ROWS = (("latency_p99_s", "P99"), ("latency_p50_s", "P50"))
HEAD_ROOM, FOOT_ROOM = 1.35, 1.25  # factors
OBJECTIVE_LINE = (0, (6, 2))
EMPTY_SIZE = 8.5  # points
FEW_DECADES = 1.5  # up to here a logarithmic axis has marks between its powers of ten, too


class LatencyPanels[T]:
    """A sheet of P99 above P50, with a panel for each of `across`: Ns, or rates.

    `drawn` is all that comes on it: each row has one y axis.
    """

    def __init__(
        self, subject: LoadSubject, what: str, across: Sequence[T], drawn: Sequence[AtRate]
    ) -> None:
        rated = subject.rated
        rows = [row for row in ROWS if any_known(rated.lines, [row[0]])]
        self._subject = subject
        self._every = list(product(rated.loops, rows, across))
        self._values = {column: estimates_ms(drawn, column) for column, _ in rows}
        self._alone = len(across) == 1
        self.columns = len(rows) if self._alone else len(across)
        layout = Layout(len(self._every), self.columns, labels_everywhere=self._alone)
        values = list(chain.from_iterable(self._values.values()))
        self.sheet = subject.sheet(what, layout, values, load_key(subject, drawn))

    def each(self, place: Callable[[T], str], pad: int) -> Iterator[tuple[Axes, str, str, T]]:
        """Each panel, with its loop, the column of its percentile, and which of `across` it is.

        When the caller has drawn on it, it gets its objectives, its y axis, and its title, which
        ends with the words of `place`, `pad` points above it.
        """
        several = len(self._subject.rated.loops) > 1
        for number, (axes, (loop, (column, name), at)) in enumerate(
            zip(self.sheet.all_panels, self._every, strict=True)
        ):
            yield axes, loop, column, at
            if not axes.containers:
                _say_why_empty(axes, name)
            objectives = self._subject.objectives_s.get(column, [])
            draw_objectives(axes, objectives)
            has_label = self._alone or number % self.columns == 0
            limits = limits_ms(self._values[column], objectives)
            finish_latency_axis(axes, f"{name}, ms" if has_label else "", limits)
            title = f"{loop}: {name}{place(at)}" if several else f"{name}{place(at)}"
            axes.set_title(title, loc="left", pad=pad, color=INK, fontweight="bold")


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
) -> None:
    """Medians in ms with their bars, joined; those that are lower `bounds` open."""
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
        ls=line(key.model),
        lw=1.5,
        elinewidth=0.9,
        capsize=2.0,
        capthick=0.9,
        label=f"{key.arm} {key.model}",
        **style,
    )
    marker = MARKERS.get(key.loop, OTHER_MARKER)
    for is_bound, face, edge, size in ((False, colour, "white", 4.6), (True, "white", colour, 5.0)):
        shown = [place for place, own in enumerate(known) if bounds[own] is is_bound]
        axes.plot(
            [at[place] for place in shown],
            [middle[place] for place in shown],
            ls="",
            marker=marker,
            ms=size,
            mfc=face,
            mec=edge,
            mew=0.7 if edge == "white" else 1.2,
            zorder=5,
            gid="bound" if is_bound else "median",
        )


def draw_objectives(axes: Axes, objectives_s: Iterable[float]) -> None:
    """A dashed line at each latency objective."""
    for seconds in objectives_s:
        axes.axhline(
            seconds * MS_PER_S, color=INK, lw=1.0, ls=OBJECTIVE_LINE, zorder=2, gid="objective"
        )


def finish_latency_axis(axes: Axes, label: str, limits: tuple[float, float]) -> None:
    """A logarithmic y axis in ms; without a label the numbers are left to the panel beside it."""
    low, high = limits
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    few = np.log10(high / low) < FEW_DECADES
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_tick_params(labelleft=bool(label))
    axes.set_ylabel(label)


def limits_ms(values: Iterable[Estimate], objectives_s: Iterable[float]) -> tuple[float, float]:
    """The lowest and the highest of some latencies in ms, their objectives among them."""
    known = [value for value in values if value.n and value.point > 0]
    ends = [value.low for value in known if value.low > 0] + [value.high for value in known]
    ends += [seconds * MS_PER_S for seconds in objectives_s]
    return (min(ends) / FOOT_ROOM, max(ends) * HEAD_ROOM) if ends else (0.1, 10.0)


def load_key(subject: LoadSubject, drawn: Iterable[AtRate]) -> list[Line2D]:
    """What the open marks and the dashed lines are; nothing of what is not there."""
    key = []
    if any(each.is_bound for each in drawn):
        label = "lower bound: the server fell behind"
        mark: dict[str, Any] = {"marker": "o", "mfc": "white", "mec": QUIET, "mew": 1.2, "ms": 5.0}
        key.append(Line2D([], [], color=FAINT, ls="", label=label, **mark))
    for column, name in ROWS:
        for seconds in subject.objectives_s.get(column, ()):
            label = f"objective: {name} < {seconds * MS_PER_S:g} ms"
            key.append(Line2D([], [], color=INK, lw=1.0, ls=OBJECTIVE_LINE, label=label))
    return key


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
