"""One panel: curves with every run behind them, an honest N axis, zero at the bottom."""

from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FuncFormatter, MaxNLocator
from matplotlib.transforms import offset_copy

from scaling.analysis.arrays import Floats
from scaling.analysis.curves import Curve
from scaling.analysis.statistics.estimate import RATIO, Estimate
from scaling.base import formats
from scaling.builds.runtimes import OWN_LOOP
from scaling.journal.record import Cell
from scaling.report.plots.borders import bends, draw_bends, draw_regions
from scaling.report.plots.plot import Subject
from scaling.report.plots.sheet import Sheet, panel_width_in
from scaling.report.plots.style import BAND_ALPHA, INK, POINTS_PER_IN, line, marker_style
from scaling.report.plots.svg import say
from scaling.study.questions import BASE_LOOP

HEAD_ROOM = 1.10  # of the highest run: so that no dot touches the frame
DOTS_ASIDE = 4.5  # points of print right of the median
RING = 34  # area around the dot of an outlier, in square points
LABEL_GAP_IN = 0.17  # two numbers nearer than that on the N axis run into one


def draw_curves(
    axes: Axes, subject: Subject, loop: str, what: str, model: str | None = None
) -> None:
    """Every curve of a loop: its runs as faint dots, the medians joined, a bar from low to high,
    and around them the noise band, if there are A/A pairs.

    Of one `model` only, if one is named. `what` names both the estimates of a `Point` and the
    runs behind them in `Curve.values`.
    Dots stand a few points of print beside their median, which would hide them; their data are
    at N. Lines are not moved: beside its ideal a steep line would look worse than it is.
    """
    for curve in subject.on(loop, model):
        colour = subject.colours[curve.key.arm]
        runs, name = curve.values[what], configuration(curve.key)
        draw_runs(axes, curve.workers, runs, curve.values["outlier"], colour, name)
        known = [
            (point, blocks)
            for point, blocks in zip(curve.points, runs.T, strict=True)
            if point.estimate(what).n
        ]
        ns = [point.workers for point, _ in known]
        estimates = [as_drawn(subject, what, point.estimate(what)) for point, _ in known]
        words = [
            median_words(f"{name}, N = {n}", value, blocks)
            for n, value, (_, blocks) in zip(ns, estimates, known, strict=True)
        ]
        draw_medians(axes, ns, estimates, colour, curve.key, words)
        if np.isfinite(floor := subject.noise(what)):
            draw_band(axes, ns, estimates, colour, floor)


def as_drawn(subject: Subject, what: str, value: Estimate) -> Estimate:
    """With the unit of its axis: throughput is in operations."""
    return value.scaled(1, f"{subject.section.operation} / s") if what == "throughput" else value


def configuration(key: Cell) -> str:
    """`3.14t threads`; with a loop that is not asyncio's `3.14t threads on uvloop`."""
    loop = "" if key.loop in (BASE_LOOP, OWN_LOOP) else f" on {key.loop}"
    return f"{key.arm} {key.model}{loop}"


def median_words(
    name: str, value: Estimate, blocks: Iterable[float] = (), *, is_bound: bool = False
) -> str:
    """What a median says: `3.14t threads, N = 2: 41.2 MiB (40.9–41.5), 8 blocks: 41.0 41.3 …`.

    `blocks` has the value of each block in order, NaN for none; the median may be a lower bound.
    """
    each = " ".join(map(formats.number, blocks)) if value.n > 1 else ""
    figure = f"{'≥ ' * is_bound}{with_unit(value)}"
    return f"{name}: {figure}, {formats.plural(value.n, 'block')}{f': {each}' if each else ''}"


def with_unit(value: Estimate) -> str:
    """`41.2 MiB (40.9–41.5)`, `1.93× (1.90–1.95)`."""
    unit = value.unit if value.unit in ("", RATIO) else f" {value.unit}"
    bounds = f" ({value.bounds})" if value.bounds else ""
    return f"{formats.number(value.point)}{unit}{bounds}"


def draw_band(
    axes: Axes, at: Sequence[float], estimates: Sequence[Estimate], colour: str, floor: float
) -> None:
    """What lies no farther from a median than two runs of one cell do from each other."""
    middle = np.array([value.point for value in estimates])
    axes.fill_between(
        at,
        middle / (1 + floor),
        middle * (1 + floor),
        color=colour,
        alpha=BAND_ALPHA,
        lw=0,
        zorder=2.5,
        gid="noise",
    )


def draw_runs(
    axes: Axes, at: Sequence[float], grid: Floats, outliers: Floats, colour: str, name: str
) -> None:
    """A faint dot for each run, with a ring around it if it is an outlier.

    `grid` and `outliers` have a column for each place on the x axis. The dots together say the
    `name` of what was run: words for each would be a fifth of a file, and the median says their
    values. Where the next place is so near that dots beside a median would seem to belong to that,
    they are not moved.
    """
    known = np.isfinite(grid)
    far = known & (outliers == 1)
    places = np.broadcast_to(np.array(at, dtype=float), grid.shape)
    beside = offset_copy(axes.transData, axes.get_figure(root=True), DOTS_ASIDE, 0, units="points")
    has_room = np.broadcast_to(_gaps_in(axes, at) * POINTS_PER_IN > 2 * DOTS_ASIDE, grid.shape)
    dots: dict[str, Any] = {"color": colour, "alpha": 0.4, "linewidths": 0}
    rings: dict[str, Any] = {"facecolors": "none", "edgecolors": INK, "linewidths": 0.7}
    for kind, size, style, what in ((known, 10, dots, "runs"), (far, RING, rings, "outliers")):
        for where, transform in ((has_room, beside), (~has_room, axes.transData)):
            shown = kind & where
            if shown.any():
                drawn = axes.scatter(
                    *(places[shown], grid[shown]),
                    s=size, zorder=3, gid=what, transform=transform, **style,
                )  # fmt: skip
                say(drawn, f"{name}: {what}")


def _gaps_in(axes: Axes, at: Sequence[float]) -> Floats:
    """How far each place is from the next one, in inches, if they fill the panel."""
    gaps = np.diff(np.array(at, dtype=float), append=np.inf)
    span = max(at) - min(at) or 1.0
    return gaps / span * panel_width_in(axes)


def draw_medians(
    axes: Axes,
    at: Sequence[float],
    estimates: Sequence[Estimate],
    colour: str,
    key: Cell,
    words: Sequence[str],
    *,
    joined: bool = True,
) -> None:
    """A mark for each median with a bar from low to high, joined by the line of the model; each
    says its `words`.
    """
    marks, _, _ = axes.errorbar(
        at,
        [value.point for value in estimates],
        yerr=reaches(estimates),
        color=colour,
        ls=line(key.model) if joined else "",
        lw=1.7,
        **marker_style(key.loop, key.model, colour),
        elinewidth=1.0,
        capsize=2.4,
        capthick=1.0,
        zorder=4,
        label=f"{key.arm} {key.model}",
    )
    say(marks, words)


def reaches(estimates: Iterable[Estimate]) -> Floats:
    """How far each one's bar reaches down and up, shape (2, estimates)."""
    ends = [(value.point - value.low, value.high - value.point) for value in estimates]
    return np.array(ends, np.float64).reshape(-1, 2).T


def panels_of(sheet: Sheet, subject: Subject) -> Iterator[tuple[Axes, str, str | None, str]]:
    """The panels of `Subject.layout`: axes, loop, model (None for all of them), and heading. Where
    a loop was not run under a model there is none.
    """
    models = subject.models if subject.is_crowded else [None]
    every = list(product(subject.loops, models))
    for axes, (loop, model) in zip(sheet.all_panels, every, strict=True):
        if subject.on(loop, model):
            yield axes, loop, model, f"{loop}: {model}" if model else loop
        else:
            sheet.leave_out(axes)


def highest(curves: list[Curve], runs: str) -> float:
    """The highest single run among the curves; 1 where there is none."""
    tops = [float(np.nanmax(c.values[runs])) for c in curves if np.isfinite(c.values[runs]).any()]
    return max(tops, default=1.0) or 1.0


def finish(axes: Axes, subject: Subject, heading: str, y_label: str, top: float) -> None:
    """Limits, ticks, borders and words of a panel whose curves are drawn."""
    finish_y(axes, y_label, top)
    axes.set_title(heading)
    finish_workers(axes, subject)


def finish_workers(axes: Axes, subject: Subject) -> None:
    """The N axis of a panel whose heading is set: limits, ticks and borders."""
    workers = sorted({n for curve in subject.section.curves for n in curve.workers})
    margin = 0.06 * (workers[-1] - workers[0]) or 0.5
    right = workers[-1] + max(margin, 0.35)
    axes.set_xlim(max(workers[0] - max(margin, 0.35), 0), right)
    axes.set_xticks(workers)
    machine = subject.results.study.machine
    found = bends(machine)
    limits = {machine.physical_cores, machine.usable_cpus, *found}
    axes.set_xticklabels(_readable(workers, axes, limits))
    axes.set_xlabel("workers (N)")
    draw_regions(axes, subject.regions)
    draw_bends(axes, found)


def finish_y(axes: Axes, label: str, top: float) -> None:
    """From zero to `top`."""
    axes.set_ylim(0, top)
    round_ticks(axes.yaxis)
    axes.set_ylabel(label)


def round_ticks(axis: Axis, most: int = 6) -> None:
    """Round numbers along an axis, written as `short` ones."""
    axis.set_major_locator(MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))


def short(value: float) -> str:
    """A number for an axis: 2.5k, 40k, 1.2M; small ones as they are."""
    for limit, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= 10 * limit or (abs(value) >= limit and limit > 1e3):
            return f"{value / limit:.4g}{letter}"
    return f"{value:,.4g}"


def _readable(workers: list[int], axes: Axes, limits: Container[int | None]) -> list[str]:
    """A label for every N, blank where it would run into another.

    Both ends are kept, then Ns that are `limits` of the machine, then what has room.
    """
    left, right = axes.get_xlim()
    per_worker_in = panel_width_in(axes) / (right - left)
    kept: list[int] = []
    for n in [workers[0], workers[-1], *(n for n in workers if n in limits), *workers]:
        if all(abs(n - other) * per_worker_in >= LABEL_GAP_IN for other in kept):
            kept.append(n)
    return [str(n) if n in kept else "" for n in workers]


def write_beside(
    axes: Axes, text: str, at: tuple[float, float], aside: tuple[float, float], **style: Any
) -> None:
    """Write a text beside a place, `aside` so many points right and up."""
    look: dict[str, Any] = {"color": INK, "va": "center", "zorder": 6, **style}
    axes.annotate(text, at, xytext=aside, textcoords="offset points", **look)
