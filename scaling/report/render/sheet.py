"""The frame of every drawing: title and key above, a caption in small print below."""

import textwrap
from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from scaling.report.render.style import BAR_MARKER, QUIET, WIDTH_IN

SMALL, CAPTION_WIDTH = 6.5, 150  # points, and letters in a line
KEY_COLUMNS, LONG = 5, 24  # fewer columns where a text is longer


def sheet(height_in: float) -> Figure:
    """An empty drawing of that height."""
    return Figure(figsize=(WIDTH_IN, height_in), layout="constrained")


def line_key(label: str, **style: Any) -> tuple[Line2D, str]:
    """An entry of a key: a line, or a marker; that of an interval is `BAR`."""
    if style.get("marker") == "BAR":
        style |= {"marker": BAR_MARKER, "ms": 8, "mew": 0.9}
    return Line2D([], [], **{"lw": 2.2, "solid_capstyle": "butt", **style}), label


def with_key(figure: Figure, title: str, entries: Sequence[tuple[Any, str]]) -> None:
    """Put the title above, with the key below it."""
    if not entries:
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
        return
    handles, labels = zip(*entries, strict=True)
    longest = max(map(len, labels))
    figure.legend(
        handles,
        labels,
        loc="outside upper left",
        ncols=KEY_COLUMNS if longest < LONG else KEY_COLUMNS - 1,
        title=title,
        alignment="left",
        title_fontproperties={"size": 11, "weight": "bold"},
    )


def finish(figure: Figure, caption: str) -> None:
    """Put the caption below."""
    if caption:
        lines = textwrap.fill(caption, CAPTION_WIDTH)
        figure.supxlabel(lines, x=0.01, ha="left", fontsize=SMALL, color=QUIET)
