"""Where the values of a parameter stand on an x axis, and how they are written there.

Numbers stand at their place, on a logarithmic axis if they are far apart; where one of those is
zero they stand side by side, and so do words, which have nothing between them to join.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from scaling.base import formats
from scaling.journal.record import ParameterValue
from scaling.report.plots.panel import short
from scaling.report.plots.sheet import width_in

FAR_APART = 20  # largest over smallest: from there on a linear axis has no room for the small ones
LONGEST_IN = 0.95  # tilted words reach to the left of their panel
SIZE = 8.0  # points
TILT = 30  # degrees
APART_IN = 0.08  # between two labels
MARGIN = 0.06  # of the axis, on either side

type Scale = Literal["linear", "log", "in order"]


@dataclass(frozen=True, slots=True)
class Places:
    """The values `at` their places in data coordinates, with their labels.

    `joined`: whether a line between two of them means anything; `room_in` is the axis' length.
    """

    at: list[float]
    labels: list[str]
    scale: Scale
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
