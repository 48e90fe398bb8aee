"""Throughput against a parameter that was swept: a line for each N, a panel for each track. In an
open loop P99.

The more workers, the fuller an arm's colour. Words have no lines between them: there the Ns stand
side by side.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from scaling.analysis.arrays import Floats
from scaling.analysis.results import StudyResults
from scaling.analysis.sections import Sweep, Track
from scaling.analysis.table.groups import slug
from scaling.base import formats
from scaling.journal.record import ParameterValue, encode_line
from scaling.report.plots.caption import ceilings_of, load_text
from scaling.report.plots.panel import (
    HEAD_ROOM,
    configuration,
    draw_band,
    draw_medians,
    draw_runs,
    finish_y,
    highest,
    median_words,
    short,
)
from scaling.report.plots.plot import MOST_COLUMNS, Subject
from scaling.report.plots.sheet import Draw, Layout, Sheet, columns_that_fit, panel_in, width_in
from scaling.report.plots.style import QUIET

# ------------------------------------------------------------------------------------------- places
# Where the values of a parameter stand on an x axis, and how they are written there.
#
# Numbers stand at their place, on a logarithmic axis if they are far apart; where one of those is
# zero they stand side by side, and so do words, which have nothing between them to join.

FAR_APART = 20  # largest over smallest: from there on a linear axis has no room for the small ones
LONGEST_IN = 0.95  # tilted words reach to the left of their panel
SIZE = 8.0  # points
TILT = 30  # degrees
APART_IN = 0.08  # between two labels
MARGIN = 0.06  # of the axis, on either side


@dataclass(frozen=True, slots=True)
class Places:
    """The values `at` their places in data coordinates, with their labels.

    `joined`: whether a line between two of them means anything; `room_in` is the axis' length.
    """

    at: list[float]
    labels: list[str]
    scale: Literal["linear", "log", "in order"]
    joined: bool
    room_in: float

    @property
    def shares(self) -> list[float]:
        """The same as shares of the axis, from 0 to 1, its margins left out."""
        seen = [math.log(x) for x in self.at] if self.scale == "log" else self.at
        return [(x - seen[0]) / (seen[-1] - seen[0]) for x in seen]

    @property
    def limits(self) -> tuple[float, float]:
        """Of the axis; of words, half a place beyond the first and last."""
        first, last = self.at[0], self.at[-1]
        if not self.joined:
            return first - 0.5, last + 0.5
        if self.scale == "log":
            beyond = (last / first) ** MARGIN
            return first / beyond, last * beyond
        return first - MARGIN * (last - first), last + MARGIN * (last - first)

    @property
    def is_tilted(self) -> bool:
        """Whether labels have to be: words that are too long to stand beside each other."""
        room_in = self.room_in / len(self.at) - APART_IN
        return not self.joined and max(width_in(text, SIZE) for text in self.labels) > room_in

    @property
    def under_in(self) -> float:
        """How much lower than usual the labels reach."""
        longest = max(width_in(text, SIZE) for text in self.labels)
        return longest * math.sin(math.radians(TILT)) if self.is_tilted else 0.0

    def draw(self, axes: Axes, name: str) -> None:
        """Put the axis under a panel; `name` is the parameter's."""
        if self.scale == "log":
            axes.set_xscale("log")
        axes.set_xlim(*self.limits)
        axes.xaxis.set_minor_locator(NullLocator())
        style: dict[str, Any] = {"rotation": TILT, "ha": "right", "rotation_mode": "anchor"}
        labels = self.labels if self.is_tilted or not self.joined else self.readable()
        axes.set_xticks(self.at, labels, fontsize=SIZE, **(style if self.is_tilted else {}))
        note = {"linear": "", "log": " (logarithmic)", "in order": " (not to scale)"}[self.scale]
        axes.set_xlabel(f"{name}{note if self.joined else ''}")

    def readable(self) -> list[str]:
        """A label for every value, blank where it would run into its neighbour; both ends stay."""
        span_in = self.room_in / (1 + 2 * MARGIN)
        half_in = [width_in(text, SIZE) / 2 for text in self.labels]
        left_in = [x * span_in - half for x, half in zip(self.shares, half_in, strict=True)]
        last, free_from = len(self.at) - 1, -math.inf
        labels = []
        for place, (text, left, half) in enumerate(zip(self.labels, left_in, half_in, strict=True)):
            right = left + 2 * half + APART_IN
            fits = left >= free_from and (place == last or right <= left_in[last])
            labels.append(text if fits or place == last else "")
            free_from = right if fits else free_from
        return labels


def places(values: Sequence[ParameterValue], room_in: float) -> Places:
    """The places of some values, two at least; numbers ascend."""
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    if len(numbers) < len(values):
        labels = [_shortened(formats.parameter(value)) for value in values]
        return Places(_in_order(values), labels, "in order", joined=False, room_in=room_in)
    labels = [short(number) for number in numbers]
    positive = [number for number in numbers if number > 0]
    if positive and max(positive) < FAR_APART * min(positive):
        return Places([float(n) for n in numbers], labels, "linear", True, room_in)
    if len(positive) == len(numbers):
        return Places([float(n) for n in numbers], labels, "log", True, room_in)
    return Places(_in_order(values), labels, "in order", True, room_in)


def _in_order(values: Sequence[object]) -> list[float]:
    return [float(place) for place in range(len(values))]


def _shortened(text: str) -> str:
    if width_in(text, SIZE) <= LONGEST_IN:
        return text
    fitting = (text[:end] for end in range(len(text) - 1, 0, -1))
    return next(f"{part}…" for part in fitting if width_in(f"{part}…", SIZE) <= LONGEST_IN)


# -------------------------------------------------------------------------------------------- sweep

PALEST = 0.4  # how much of an arm's colour is left at the smallest N
GROUP = 0.6  # of the room between two words, for the Ns side by side
WORDS_IN = 3.0  # a panel of words is not narrower


def drawings(results: StudyResults, sweeps: Iterable[Sweep]) -> Iterator[tuple[str, Draw]]:
    """Every one of `sweeps` of the results, with the name of its file."""
    taken: Counter[str] = Counter()
    for sweep in sweeps:
        own = [each for each in results.sections if any(each is one for one in sweep.sections)]
        ceilings = chain.from_iterable(ceilings_of(each, results) for each in own)
        distinct = tuple({encode_line(each): each for each in ceilings}.values())
        about = Subject(sweep.section, results, distinct, tuple(load_text(own[0], results)))
        if is_drawn(sweep):
            stem = f"{slug(sweep.label)}-{sweep.section.sizing}-by-{slug(sweep.parameter)}"
            taken[stem] += 1
            name = stem if taken[stem] == 1 else f"{stem}~{taken[stem]}"
            yield name, partial(draw, sweep, about)


class Drawn(NamedTuple):
    """The measure of a sweep: its column, name, axis and unit, and the factor to that unit."""

    column: str
    name: str
    label: str
    unit: str
    factor: float = 1.0


def drawn_of(sweep: Sweep) -> Drawn:
    """Throughput; in an open loop, where that is what was asked for, P99."""
    if all(section.rate_per_s is not None for section in sweep.sections):
        return Drawn("latency_p99_s", "P99 latency", "P99, ms", "ms", 1e3)
    unit = f"{sweep.section.operation} / s"
    return Drawn("throughput", "throughput", unit, unit)


def is_drawn(sweep: Sweep) -> bool:
    """Whether any value of its measure is known."""
    column = drawn_of(sweep).column
    return any(point.estimate(column).n for c in sweep.section.curves for point in c.points)


def draw(sweep: Sweep, about: Subject) -> Sheet:
    """The sheet; its panels have the same axes."""
    measure = drawn_of(sweep)
    headings = _headings(sweep.tracks)
    columns = _columns(headings, places(sweep.values, 1.0).joined)
    placed = places(sweep.values, panel_in(columns))
    every_n = sorted({n for track in sweep.tracks for n in track.workers})
    layout = Layout(len(headings), columns, under_in=placed.under_in)
    base = next(iter(about.colours.values())) if len(about.colours) == 1 else QUIET
    key = [
        Line2D([], [], color=shade, lw=2.2, label=f"N = {n}")
        for n, shade in zip(every_n, _shades(base, len(every_n)), strict=True)
    ]
    sheet = about.sheet(
        f"{measure.name} by {sweep.parameter}",
        "",
        layout,
        measures=(measure.column,),
        also=key,
    )
    top = HEAD_ROOM * measure.factor * highest(about.section.curves, measure.column)
    panels = zip(sheet.all_panels, sweep.tracks, headings, strict=True)
    for axes, track, heading in panels:
        for n in track.workers:
            _draw_n(axes, track, n, every_n, placed, about, measure, sweep)
        placed.draw(axes, sweep.parameter)
        finish_y(axes, measure.label, top)
        axes.set_title(heading)
    return sheet


def _draw_n(
    axes: Axes,
    track: Track,
    n: int,
    every_n: list[int],
    placed: Places,
    about: Subject,
    measure: Drawn,
    sweep: Sweep,
) -> None:
    """The runs, medians and noise of one N at every value."""
    place = every_n.index(n)
    colour = _shades(about.colours[track.key.arm], len(every_n))[place]
    step = 0.0 if placed.joined else GROUP / len(every_n)
    aside = step * (place - (len(every_n) - 1) / 2)
    at = [x + aside for x in placed.at]
    runs = measure.factor * _runs(track, n, measure.column)
    name = f"{configuration(track.key)}, N = {n}"
    draw_runs(axes, at, runs, _runs(track, n, "outlier"), colour, name)
    known, words = [], []
    for x, point, swept, blocks in zip(at, track.at(n), sweep.values, runs.T, strict=True):
        if point and (median := point.estimate(measure.column)).n:
            figure = median.scaled(measure.factor, measure.unit)
            known.append((x, figure))
            where = f"{name}, {sweep.parameter} = {formats.parameter(swept)}"
            words.append(median_words(where, figure, blocks))
    draw_medians(
        axes,
        [x for x, _ in known],
        [v for _, v in known],
        colour,
        track.key,
        words,
        joined=placed.joined,
    )
    floor = about.noise(measure.column)
    if not np.isfinite(floor):
        return
    if placed.joined:
        draw_band(axes, [x for x, _ in known], [value for _, value in known], colour, floor)
    else:
        for x, value in known:
            draw_band(axes, [x - step / 3, x + step / 3], [value, value], colour, floor)


def _runs(track: Track, n: int, what: str) -> Floats:
    """The single runs at N workers, shape (blocks, values); NaN where there is none."""
    columns: list[Sequence[float] | Floats] = [
        curve.values[what][:, curve.workers.index(n)] if curve and n in curve.workers else []
        for curve in track.curves
    ]
    table = np.full((max(map(len, columns)), len(columns)), np.nan)
    for place, column in enumerate(columns):
        table[: len(column), place] = column
    return table


def _shades(colour: str, count: int) -> list[str]:
    """An arm's colour, mixed with white: palest at the smallest N, full at the largest."""
    import seaborn as sns  # slow to import, and few studies have a sweep

    left = np.linspace(1.0, PALEST, count)[::-1]
    return list(map(to_hex, sns.blend_palette(["white", colour], as_cmap=True)(left)))


def _headings(tracks: list[Track]) -> list[str]:
    """The loop of each track, and of arm and model what differs among them."""
    keys = [track.key for track in tracks]
    arms, models = ({getattr(key, name) for key in keys} for name in ("arm", "model"))
    return [
        " · ".join([k.loop, *[k.arm] * (len(arms) > 1), *[k.model] * (len(models) > 1)])
        for k in keys
    ]


def _columns(headings: list[str], joined: bool) -> int:
    """As many panels side by side as leave room for their headings, and for words; no more of
    them than the rows that this makes really need.
    """
    most = columns_that_fit(headings, MOST_COLUMNS, 0.0 if joined else WORDS_IN)
    rows = -(-len(headings) // most)
    return -(-len(headings) // rows)
