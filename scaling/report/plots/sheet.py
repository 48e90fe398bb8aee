"""The sheet that every figure is drawn on: title, key, panels in a row or a grid, small print.

All distances are in inches from the sheet's edges, so that a figure with one panel and one with six
look like members of one family. Nothing here touches pyplot, which would keep figures alive.
"""

import base64
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import batched, chain
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from scaling.report.plots.key import fitted_rows, write_key
from scaling.report.plots.lettering import wrapped
from scaling.report.plots.style import (
    DPI,
    PNG_DPI,
    QUIET,
    RC,
    WIDTH_IN,
)
from scaling.report.plots.svg import small_svg

EDGE_IN = 0.16
LEFT_IN, RIGHT_IN = 0.78, 0.18
GAP_IN, GAP_WITH_LABELS_IN = 0.3, 0.85
PANEL_HEAD_IN, AXIS_IN = 0.42, 0.5
TITLE_SIZE, SUBTITLE_SIZE, CAPTION_SIZE = 12.5, 9.0, 7.2  # points
TITLE_LINE_IN, SUBTITLE_LINE_IN, KEY_LINE_IN, CAPTION_LINE_IN = 0.26, 0.2, 0.21, 0.145
ROOM_IN = WIDTH_IN - 2 * EDGE_IN
FORMATS = ("svg", "png")


@dataclass(slots=True)
class Sheet:
    """A figure and its panels: `panels[row][column]`."""

    figure: Figure
    panels: list[list[Axes]]
    title: str
    description: str

    @property
    def all_panels(self) -> list[Axes]:
        """Every panel, row by row."""
        return list(chain.from_iterable(self.panels))

    def leave_out(self, axes: Axes) -> None:
        """Take a panel off the sheet; its place stays empty."""
        axes.remove()
        for row in self.panels:
            if axes in row:
                row.remove(axes)

    def save(self, stem: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
        """Write `stem`.svg, `stem`.png or both; the same drawing gives the same bytes."""
        files = [stem.with_name(f"{stem.name}.{kind}") for kind in formats]
        for file, kind in zip(files, formats, strict=True):
            if kind == "svg":
                drawn = small_svg(self.figure, self.title, self.description)
                file.write_text(drawn, encoding="utf-8")
            else:
                about = {"Title": self.title, "Description": self.description}
                made_by = {"Software": "scaling"}
                self.figure.savefig(file, dpi=PNG_DPI, metadata={**made_by, **about})
        return files

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        """How a notebook shows it: the picture, and its words for who cannot see it."""
        png = io.BytesIO()
        with mpl.rc_context(RC):
            self.figure.savefig(png, dpi=DPI, metadata={"Software": "scaling"})
        words = f"{self.title}. {self.description}"
        return {"image/png": base64.b64encode(png.getvalue()).decode(), "text/plain": words}


type Draw = Callable[[], Sheet]  # to be called inside of `RC`, as all that makes sheets


@dataclass(frozen=True, slots=True)
class Layout:
    """Panels: how many, how high, how much writing is under each, whether all have y labels."""

    panels: int
    columns: int
    panel_in: float = 2.75
    under_in: float = 0.0
    labels_everywhere: bool = False

    @property
    def rows(self) -> int:
        """Rows that the panels fill; the last may be short."""
        return -(-self.panels // self.columns)


def panel_in(columns: int, gap_in: float = GAP_IN) -> float:
    """How wide each of so many panels side by side is, in inches."""
    return (WIDTH_IN - LEFT_IN - RIGHT_IN - (columns - 1) * gap_in) / columns


def new_sheet(title: str, subtitle: str, key: list[Line2D], caption: str, layout: Layout) -> Sheet:
    """A sheet with empty panels, as high as they and the words around them need."""
    head = wrapped(title, TITLE_SIZE, ROOM_IN, weight="bold")
    below = wrapped(subtitle, SUBTITLE_SIZE, ROOM_IN)
    key_rows = fitted_rows(key, ROOM_IN)
    small_print = wrapped(caption, CAPTION_SIZE, ROOM_IN)

    subtitle_at = 0.14 + TITLE_LINE_IN * len(head)
    key_at = subtitle_at + SUBTITLE_LINE_IN * len(below) + 0.02
    head_in = key_at + KEY_LINE_IN * len(key_rows) + 0.08 + PANEL_HEAD_IN
    small_print_in = CAPTION_LINE_IN * len(small_print)
    foot_in = AXIS_IN + layout.under_in + small_print_in + 0.14
    between_in = AXIS_IN + layout.under_in + PANEL_HEAD_IN
    height_in = head_in + layout.rows * (layout.panel_in + between_in) - between_in + foot_in

    figure = Figure(figsize=(WIDTH_IN, height_in), dpi=DPI)
    panels = _panels(figure, layout, head_in, foot_in, between_in)
    _write(figure, head, 0.14, TITLE_LINE_IN, size=TITLE_SIZE, weight="bold")
    _write(figure, below, subtitle_at, SUBTITLE_LINE_IN, size=SUBTITLE_SIZE, color=QUIET)
    for number, row in enumerate(key_rows):
        write_key(figure, row, (EDGE_IN, key_at + number * KEY_LINE_IN))
    small_print_at = height_in - small_print_in - 0.08
    _write(figure, small_print, small_print_at, CAPTION_LINE_IN, size=CAPTION_SIZE, color=QUIET)
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    return Sheet(figure, panels, title, f"{subtitle}. {caption}")


def _panels(
    figure: Figure, layout: Layout, head_in: float, foot_in: float, between_in: float
) -> list[list[Axes]]:
    height_in = figure.get_figheight()
    gap_in = GAP_WITH_LABELS_IN if layout.labels_everywhere else GAP_IN
    grid = figure.subplots(
        layout.rows,
        layout.columns,
        squeeze=False,
        gridspec_kw={
            "left": LEFT_IN / WIDTH_IN,
            "right": 1 - RIGHT_IN / WIDTH_IN,
            "bottom": foot_in / height_in,
            "top": 1 - head_in / height_in,
            "wspace": gap_in / panel_in(layout.columns, gap_in),
            "hspace": between_in / layout.panel_in,
        },
    )
    for spare in grid.flat[layout.panels :]:
        spare.remove()
    kept = list(grid.flat[: layout.panels])
    return list(map(list, batched(kept, layout.columns)))


def _write(figure: Figure, lines: list[str], top_in: float, line_in: float, **style: Any) -> None:
    """Lines of text from the left edge, the first one's top `top_in` below the sheet's."""
    height_in = figure.get_figheight()
    for number, text in enumerate(lines):
        y = 1 - (top_in + number * line_in) / height_in
        figure.text(EDGE_IN / WIDTH_IN, y, text, ha="left", va="top", **style)
