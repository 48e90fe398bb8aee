"""The sheet that every plot is drawn on: title, key, panels in a row or a grid, small print.

Matplotlib's constrained layout places all of it. Only the height of a sheet is worked out here,
from its lines and rows, because no layout engine chooses that. Nothing here touches pyplot, which
would keep figures alive.
"""

import base64
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import batched, chain
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure, FigureBase
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.ft2font import FT2Font, LoadFlags
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.patheffects import Normal, Stroke

from scaling.report.plots.style import (
    BAND_ALPHA,
    BAR_MARKER,
    DPI,
    EDGE_IN,
    FAINT,
    FONT,
    IDEAL_LINE,
    PNG_DPI,
    POINTS_PER_IN,
    QUIET,
    RC,
    WIDTH_IN,
    line,
)
from scaling.report.plots.svg import in_points, small_svg

TITLE_SIZE, SUBTITLE_SIZE, CAPTION_SIZE = 12.5, RC["legend.title_fontsize"], 7.2  # points
LINE = 1.2  # a line of text, in its letters' size
PANEL_IN, AROUND_PANEL_IN = 2.75, 0.95  # around: heading, tick labels, name of the axis
ROOM_IN = WIDTH_IN - 2 * EDGE_IN
KEY_AT: Literal["outside upper left"] = "outside upper left"
FORMATS = ("svg", "png")
HINTING = 1.03  # letters that are fitted to pixels are a little wider than their outlines
MEASURED_AT = 100  # points; widths are proportional to the size
UNKNOWN = "\N{WHITE SQUARE}"  # drawn for a letter that the font does not have


@dataclass(slots=True)
class Sheet:
    """A figure and its panels: `panels[row][column]`.

    Panels of a row have one y axis, labelled at the first of them, unless each has `own_y`.
    """

    figure: Figure
    panels: list[list[Axes]]
    title: str
    description: str
    own_y: bool = False
    is_laid_out: bool = False

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

    def lay_out(self) -> None:
        """Give everything its place. What is drawn inside of the panels later is placed there.

        To be called inside of `RC`. It is done once, and not by the figure itself, which would do
        it each time that it is drawn: placing takes half as long as drawing.
        """
        if self.is_laid_out:
            return
        self.is_laid_out = True
        for axes in chain.from_iterable(row[1:] for row in self.panels if not self.own_y):
            axes.set_ylabel("")
            axes.yaxis.set_tick_params(labelleft=False)
        with in_points(self.figure):
            ConstrainedLayoutEngine().execute(self.figure)

    def svg(self) -> str:
        """The sheet as SVG."""
        self.lay_out()
        return small_svg(self.figure, self.title, self.description)

    def save(self, stem: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
        """Write `stem`.svg, `stem`.png or both; the same drawing gives the same bytes."""
        self.lay_out()
        files = [stem.with_name(f"{stem.name}.{kind}") for kind in formats]
        for file, kind in zip(files, formats, strict=True):
            if kind == "svg":
                file.write_text(self.svg(), encoding="utf-8")
            else:
                about = {"Title": self.title, "Description": self.description}
                made_by = {"Software": "scaling"}
                self.figure.savefig(file, dpi=PNG_DPI, metadata={**made_by, **about})
        return files

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        """How a notebook shows it: the picture, and its words for who cannot see it."""
        png = io.BytesIO()
        with mpl.rc_context(RC):
            self.lay_out()
            self.figure.savefig(png, dpi=DPI, metadata={"Software": "scaling"})
        words = f"{self.title}. {self.description}"
        return {"image/png": base64.b64encode(png.getvalue()).decode(), "text/plain": words}


type Draw = Callable[[], Sheet]  # to be called inside of `RC`, as all that makes sheets


@dataclass(frozen=True, slots=True)
class Layout:
    """Panels: how many, how high about, what is written under each, whether each has `own_y`."""

    panels: int
    columns: int
    panel_in: float = PANEL_IN
    under_in: float = 0.0
    own_y: bool = False

    @property
    def rows(self) -> int:
        """Rows that the panels fill; the last may be short."""
        return -(-self.panels // self.columns)


def panel_in(columns: int) -> float:
    """How wide each of so many panels side by side is, in inches; before the layout, about."""
    between = RC["figure.subplot.wspace"]
    room = RC["figure.subplot.right"] - RC["figure.subplot.left"]
    return float(WIDTH_IN * room / (columns + between * (columns - 1)))


def columns_that_fit(headings: Sequence[str], most: int, least_in: float = 0.0) -> int:
    """As many panels side by side as leave room for their headings, each at least so wide."""
    longest = max(width_in(text, RC["axes.titlesize"], weight="bold") for text in headings)
    needed_in = max(longest, least_in)
    return next((n for n in range(most, 1, -1) if panel_in(n) >= needed_in), 1)


def panel_width_in(axes: Axes) -> float:
    """How wide a panel is on its sheet, in inches; before the layout, about."""
    return float(axes.get_position().width * WIDTH_IN)


def new_sheet(title: str, subtitle: str, key: list[Line2D], caption: str, layout: Layout) -> Sheet:
    """A sheet with empty panels, as high as they and the words around them need."""
    head = wrapped(title, TITLE_SIZE, ROOM_IN, weight="bold")
    below = wrapped(subtitle, SUBTITLE_SIZE, ROOM_IN)
    small_print = wrapped(caption, CAPTION_SIZE, ROOM_IN)
    key_rows = _rows_that_fit(key)
    sizes = {TITLE_SIZE: len(head), SUBTITLE_SIZE: len(below), CAPTION_SIZE: len(small_print)}
    words_in = sum(LINE * size * lines for size, lines in sizes.items()) / POINTS_PER_IN
    key_in = len(key_rows) * (RC["legend.fontsize"] / POINTS_PER_IN + 2 * EDGE_IN)
    panels_in = layout.rows * (layout.panel_in + AROUND_PANEL_IN + layout.under_in)
    size = (WIDTH_IN, words_in + key_in + panels_in)

    figure = Figure(figsize=size, dpi=DPI)
    left: dict[str, Any] = {"x": EDGE_IN / WIDTH_IN, "ha": "left"}
    figure.suptitle("\n".join(head), fontsize=TITLE_SIZE, fontweight="bold", **left)
    words = "\n".join(small_print)
    figure.supxlabel(words, fontsize=CAPTION_SIZE, color=QUIET, **left)
    inside: FigureBase = figure
    for row in key_rows:
        # A figure has room for one legend above its panels: each row of the key has its own.
        inside = inside.add_subfigure(inside.add_gridspec()[0])
        first = {"title": "\n".join(below)} if row is key_rows[0] else {}
        legend = inside.legend(handles=row, loc=KEY_AT, ncols=len(row), alignment="left", **first)
        legend.get_title().set_color(QUIET)
    grid = inside.subplots(layout.rows, layout.columns, squeeze=False)
    for spare in grid.flat[layout.panels :]:
        spare.remove()
    panels = list(map(list, batched(grid.flat[: layout.panels], layout.columns)))
    return Sheet(figure, panels, title, f"{subtitle}. {caption}", layout.own_y)


def key_entries(
    colours: dict[str, str],
    models: list[str],
    bounds_kind: str,
    ideal: str,
    dots: str = "one run",
    band: str = "",
) -> list[Line2D]:
    """What colours, lines, dots and bars stand for. Models are shown where there are several."""
    entries = [Line2D([], [], color=colour, lw=2.2, label=arm) for arm, colour in colours.items()]
    if len(models) > 1:
        entries += [Line2D([], [], color=QUIET, lw=1.6, ls=line(m), label=m) for m in models]
    if dots:
        entries.append(Line2D([], [], color=FAINT, marker="o", ls="", ms=4, label=dots))
    if bounds_kind:
        entries.append(bar_entry(f"median with {bounds_kind}"))
    if ideal:
        entries.append(Line2D([], [], color=QUIET, lw=1.1, ls=IDEAL_LINE, label=ideal))
    if band:
        ribbon = Stroke(linewidth=9, foreground=QUIET, alpha=1.5 * BAND_ALPHA, capstyle="butt")
        effects = [ribbon, Normal()]
        entries.append(Line2D([], [], color=QUIET, lw=1.2, path_effects=effects, label=band))
    return entries


def bar_entry(label: str) -> Line2D:
    """A bar with caps."""
    style: dict[str, Any] = {"marker": BAR_MARKER, "mfc": "none", "ms": 8, "mew": 1.1, "ls": ""}
    return Line2D([], [], color=QUIET, label=label, **style)


def _rows_that_fit(key: list[Line2D]) -> list[list[Line2D]]:
    """The key's entries, broken into rows; one row at least, for the subtitle above it."""
    size = RC["legend.fontsize"]
    around = sum(
        RC[f"legend.{name}"] for name in ("handlelength", "handletextpad", "columnspacing")
    )
    rows: list[list[Line2D]] = [[]]
    left_in = ROOM_IN
    for entry in key:
        takes_in = width_in(str(entry.get_label()), size) + around * size / POINTS_PER_IN
        if takes_in > left_in and rows[-1]:
            rows.append([])
            left_in = ROOM_IN
        rows[-1].append(entry)
        left_in -= takes_in
    return rows


def width_in(text: str, size: float, weight: str = "normal") -> float:
    """The width of a line of text, in inches; `size` in points."""
    return _width_at_100(text, weight) * size / MEASURED_AT * HINTING / POINTS_PER_IN


def wrapped(text: str, size: float, room_in: float, weight: str = "normal") -> list[str]:
    """The text in lines that fit; broken at plain spaces only, a longer word stays whole."""
    lines: list[list[str]] = []
    left_in = 0.0
    space_in = width_in(" ", size, weight) - width_in("", size, weight)
    for word in text.split(" "):
        takes_in = width_in(word, size, weight)
        if lines and takes_in <= left_in:
            lines[-1].append(word)
        else:
            lines.append([word])
            left_in = room_in
        left_in -= takes_in + space_in
    return [" ".join(line) for line in lines]


@cache
def _width_at_100(text: str, weight: str) -> float:
    """In points, of the letters' outlines; a stroke at the end makes trailing spaces count."""
    font = _font(weight)
    font.set_size(MEASURED_AT, POINTS_PER_IN)  # each time: drawing uses the same object
    known = "".join(each if font.get_char_index(ord(each)) else UNKNOWN for each in text)
    font.set_text(f"{known}|", 0.0, LoadFlags.NO_HINTING)
    return float(font.get_width_height()[0]) / 64  # FreeType counts in 64ths


@cache
def _font(weight: str) -> FT2Font:
    return get_font(findfont(FontProperties(family=FONT, weight=weight)))
