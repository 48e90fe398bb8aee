"""One run over time: what clients saw, how late the loops were, when the collector ran.

A column for each configuration, at the middle rate and the largest N with a core for each worker:
threads, the processes that they are compared with, then others. Of each it is the run with the
longest P99. A stretch with a planned overload is shaded. The free-threaded collector stops every
loop of its process: a wait of clients that it made has a collection below it, and the lag of the
loops between.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from scaling.analysis.arrays import Floats
from scaling.analysis.served.course import FEWEST_COLLECTIONS, Course
from scaling.base import formats
from scaling.base.vocabulary import MODELS, THREADS
from scaling.builds.arms import free_arms
from scaling.report.plots.latency import MS_PER_S, finish_latency_axis, with_room
from scaling.report.plots.panel import HEAD_ROOM, finish_y
from scaling.report.plots.plot import MOST_COLUMNS, LoadSubject, Plot
from scaling.report.plots.sheet import Layout, Sheet
from scaling.report.plots.style import FAINT, QUIET
from scaling.report.plots.style import line as linestyle
from scaling.report.tables.grid import Cell, Grid
from scaling.report.tables.rates import AtRate, Line, at_rate

ROWS = 3
LEAST_MS = 1.0  # that a row shows, so that microseconds do not look like pauses
LONGEST: dict[str, Any] = {"lw": 1.3}
MEDIAN: dict[str, Any] = {"lw": 0.9, "alpha": 0.6}
OVERLOAD: dict[str, Any] = {"color": FAINT, "alpha": 0.2, "lw": 0, "zorder": 0, "gid": "overload"}
NOTE = (
    "one run of each configuration, that with the longest P99, so no interval; latency of the "
    "answers in each part of the window; lag: how late each tick of a worker ran"
)
TABLE_NOTE = "One run of each, that with the longest P99."

type Shown = tuple[Line, AtRate, Course]


def draw(subject: LoadSubject) -> Sheet:
    """The sheet: three rows with one time axis."""
    shown = _shown(subject)
    rated = subject.rated
    layout = Layout(ROWS * len(shown), len(shown), panel_in=1.25)
    rate = formats.number(rated.middle_rate_per_s)
    noted = replace(subject, load=(NOTE, *subject.load))
    sheet = noted.sheet(
        f"pauses over time at {rate} {rated.sent}/s, N = {rated.headline_n}",
        "",
        layout,
        [at.curve for _, at, _ in shown],
        dots="",
        also=_key(shown),
    )
    tops = _tops(shown)
    for column, (line, _, course) in zip(zip(*sheet.panels, strict=True), shown, strict=True):
        colour = subject.colours[line.key.arm]
        clients, lag, collector = column
        _draw_clients(clients, course, colour, line.key.model)
        finish_latency_axis(clients, "latency, ms", _limits_ms(shown))
        _head(clients, f"{line.key.arm} {line.key.model}, block {course.block + 1}")
        _draw_lag(lag, course, colour)
        finish_y(lag, "loop lag, ms", tops[0])
        _head(lag, f"lag of {formats.plural(len(course.lags), 'loop')}")
        _draw_collections(collector, course, colour)
        finish_y(collector, "collection, ms", tops[1])
        _head(collector, collected_text(course))
        collector.set_xlabel("seconds of the window")
        for axes in column:
            axes.set_xlim(0, course.window_s)
            if course.overload_s:
                axes.axvspan(*course.overload_s, **OVERLOAD)
    return sheet


def is_there(subject: LoadSubject) -> bool:
    """Whether the collector ran in any of the runs, or an overload was planned."""
    return any(course.collected or course.overload_s for _, _, course in _shown(subject))


def collected_text(course: Course) -> str:
    """`12 collections`, `no collections`; of fewer than ten it says so."""
    if course.collections is None:
        return "collections not recorded"
    count = course.collected
    if not count:
        return "no collections"
    few = f", fewer than {FEWEST_COLLECTIONS}" if count < FEWEST_COLLECTIONS else ""
    first = f", the first {count - course.unlisted:,} drawn" if course.unlisted else ""
    return f"{formats.plural(count, 'collection')}{few}{first}"


def _shown(subject: LoadSubject) -> list[Shown]:
    """Threads and what they are compared with first, as many as stand side by side.

    Where there is no ratio, because a server fell behind in every run, say, there is one
    configuration of each model first: threads without the GIL, then processes.
    """
    rated = subject.rated
    rate, n = rated.middle_rate_per_s, rated.headline_n
    lines = rated.on(rated.loops[0], n)
    ratios = [ratio for line in lines if (ratio := rated.ratio(line, rate)) is not None]
    compared = [(side.arm, side.model) for each in ratios for side in (each.of, each.over)]
    free = free_arms(line.key.arm for line in lines)
    ranked = sorted(lines, key=lambda line: (line.key.arm in free) != (line.key.model == THREADS))
    of_models = {line.key.model: (line.key.arm, line.key.model) for line in reversed(ranked)}
    one_each = [of_models[model] for model in MODELS if model in of_models]
    others = [(line.key.arm, line.key.model) for line in lines]
    wanted = dict.fromkeys([*compared, *one_each, *others])
    by_name = {(line.key.arm, line.key.model): line for line in lines}
    # What processes compare with may be in another section: a broker in the place of the loops.
    found = at_rate((by_name[name] for name in wanted if name in by_name), rate)
    known = subject.results.courses
    courses = ((*each, known.get(each[1].curve.key.but(workers=n))) for each in found)
    return [(line, at, course) for line, at, course in courses if course is not None][:MOST_COLUMNS]


def _draw_clients(axes: Axes, course: Course, colour: str, model: str) -> None:
    """Median and maximum of each part of the window."""
    for values, name, style in (
        (course.median_s, "median", MEDIAN),
        (course.longest_s, "longest", LONGEST),
    ):
        edges = np.linspace(0, course.window_s, len(values) + 1)
        steps = axes.stairs(
            values * MS_PER_S, edges, baseline=None, color=colour, ls=linestyle(model), **style
        )
        steps.set_gid(name)


def _draw_lag(axes: Axes, course: Course, colour: str) -> None:
    """How late each tick of each worker was."""
    for worker in course.lags:
        late_ms = worker.lag_s * MS_PER_S
        axes.vlines(worker.at_s, 0, late_ms, color=colour, lw=1.0, alpha=0.7)
        axes.plot(worker.at_s, late_ms, color=colour, ls="", marker=".", ms=3, gid="lag")


def _draw_collections(axes: Axes, course: Course, colour: str) -> None:
    """Each from its start to its end, and as high as it is long."""
    for each in course.collections or ():
        for chosen, own in ((~each.is_full, FAINT), (each.is_full, colour)):
            axes.bar(
                each.start_s[chosen],
                each.pause_s[chosen] * MS_PER_S,
                each.pause_s[chosen],
                align="edge",
                color=own,
                edgecolor=own,
                lw=0.8,  # what is shorter than a pixel can be seen, too
                gid="full" if own is colour else "young",
            )


def _head(axes: Axes, text: str) -> None:
    axes.set_title(text, pad=5, fontsize=9, fontweight="normal")


def _key(shown: Sequence[Shown]) -> list[Line2D]:
    styles = {"longest request": LONGEST, "median request": MEDIAN}
    key = [Line2D([], [], color=QUIET, label=label, **style) for label, style in styles.items()]
    if any((~each.is_full).any() for _, _, course in shown for each in course.collections or ()):
        key.append(Line2D([], [], color=FAINT, lw=4, label="young collection"))
    if any(course.overload_s for _, _, course in shown):
        key.append(Line2D([], [], color=FAINT, alpha=0.3, lw=8, label="overload"))
    return key


def _limits_ms(shown: Sequence[Shown]) -> tuple[float, float]:
    """Of the latencies of all columns."""
    every = np.concatenate(
        [values for _, _, course in shown for values in (course.median_s, course.longest_s)]
    )
    known = every[np.isfinite(every) & (every > 0)] * MS_PER_S
    return with_room(known.tolist())


def _tops(shown: Sequence[Shown]) -> tuple[float, float]:
    """The ends of the axes of lag and collections in ms, the same in all columns."""
    lags = _longest_ms(lag.lag_s for _, _, course in shown for lag in course.lags)
    pauses = _longest_ms(
        each.pause_s for _, _, course in shown for each in course.collections or ()
    )
    return max(lags, LEAST_MS) * HEAD_ROOM, max(pauses, LEAST_MS) * HEAD_ROOM


def _longest_ms(every: Iterable[Floats]) -> float:
    return max((float(values.max()) for values in every if len(values)), default=0.0) * MS_PER_S


def _tables(subject: LoadSubject, title: str) -> list[Grid]:
    del title
    headings = [
        *("configuration", "block", "P99 ms", "longest ms", "worst lag ms"),
        *("collections", "longest ms", "all of them ms"),
    ]
    rows = [_row(line, course) for line, _, course in _shown(subject)]
    return [Grid("The runs that are drawn", headings, rows, note=TABLE_NOTE)]


def _row(line: Line, course: Course) -> list[Cell]:
    pauses = [each.pause_s for each in course.collections or ()]
    longest = course.longest_s[np.isfinite(course.longest_s)]
    known = [
        course.p99_s * MS_PER_S,
        _longest_ms([longest]),
        _longest_ms(lag.lag_s for lag in course.lags),
    ]
    spent_ms = sum(float(values.sum()) for values in pauses) * MS_PER_S
    return [
        f"{line.key.arm}\n{line.key.model}",
        str(course.block + 1),
        *(formats.number(value) if np.isfinite(value) else formats.BLANK for value in known),
        str(course.collected) if course.collections is not None else formats.BLANK,
        formats.number(_longest_ms(pauses)) if course.collected else formats.BLANK,
        formats.number(spent_ms) if course.collected and not course.unlisted else formats.BLANK,
    ]


PLOT = Plot("pauses", draw, is_there, _tables)
