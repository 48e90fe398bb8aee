"""The frame of every drawing: title and key above, a caption in small print below."""

import textwrap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from scaling.report.render.style import BAR_MARKER, QUIET, RC, WIDTH_IN

SMALL, CAPTION_WIDTH = 6.5, 150  # points, and letters in a line
KEY_COLUMNS, LONG = 5, 24  # fewer columns where a text is longer
TITLE = {"size": 11, "weight": "bold"}
MOST_SAID = 16  # figures that a description has


class Picture(NamedTuple):
    """A drawing, and its description in words."""

    figure: Figure
    description: str


class Sheet(NamedTuple):
    """An empty drawing: its panels, an array of rows and columns, and the entries of its key."""

    figure: Figure
    panels: Any
    key: list[Line2D]

    def add_key(self, label: object, **style: Any) -> None:
        """Add an entry to the key: a line or a marker; the marker `BAR` is an interval."""
        if style.get("marker") == "BAR":
            style |= {"marker": BAR_MARKER, "ms": 8, "mew": 0.9}
        style = {"lw": 2.2, "solid_capstyle": "butt", **style}
        self.key.append(Line2D([], [], label=str(label), **style))

    def described(self, head: str, figures: Iterable[tuple[str, str]]) -> Picture:
        """The drawing with a description: its first figures, and the number of others."""
        lines: dict[str, list[str]] = {}
        for name, figure in figures:
            lines.setdefault(name, []).append(figure)
        said = [f"{name}: {', '.join(each)}" for name, each in lines.items()]
        more = f" And {len(said) - MOST_SAID} more." if len(said) > MOST_SAID else ""
        return Picture(self.figure, f"{head} {'; '.join(said[:MOST_SAID])}.{more}")


@contextmanager
def sheet(
    title: str, caption: str, height_in: float, rows: int = 1, columns: int = 1
) -> Iterator[Sheet]:
    """An empty drawing; at the end title and key are added above it, and the caption below."""
    with rc_context(RC):
        figure = Figure(figsize=(WIDTH_IN, height_in), layout="constrained")
        found = Sheet(figure, figure.subplots(rows, columns, sharey=True, squeeze=False), [])
        yield found
        if found.key:
            longest = max(len(str(each.get_label())) for each in found.key)
            figure.legend(
                handles=found.key,
                loc="outside upper left",
                ncols=KEY_COLUMNS if longest < LONG else KEY_COLUMNS - 1,
                title=title,
                alignment="left",
                title_fontproperties=TITLE,
            )
        else:
            figure.suptitle(title, x=0.01, ha="left", **TITLE)
        if caption:
            lines = textwrap.fill(caption, CAPTION_WIDTH)
            figure.supxlabel(lines, x=0.01, ha="left", fontsize=SMALL, color=QUIET)
