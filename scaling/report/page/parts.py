"""What a page is made of, before it is HTML: parts, blocks, plots, figures with their tables."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree as ET

import matplotlib as mpl

from scaling.report.plots.sheet import Draw
from scaling.report.plots.style import BORDER, FAINT, INK, QUIET, RC, REGION_SHADES
from scaling.report.plots.svg import SVG, one_of_several
from scaling.report.tables.grid import GAP, Grid, lines_of, packed

# ------------------------------------------------------------------------------------------ picture
# A plot on the page: an SVG inside it, or a file beside it.
#
# An SVG inside the page has the page's fonts, and no id in it is used twice. Lines and backgrounds
# have the colours of the page's style sheet, which has a dark variant; data keep the colour of
# their arm.

OF_A_FILE = re.compile(r' (?:xmlns|width|height|font-family)="[^"]*"')  # what the page sets itself

# Colours of style.py, and the variables of page.css that take their places.
COLOURS: dict[str, str] = {
    "#ffffff": "var(--paper)",
    INK: "var(--ink)",
    QUIET: "var(--quiet)",
    FAINT: "var(--faint)",
    BORDER: "var(--edge)",
    RC["axes.edgecolor"]: "var(--edge)",
    RC["grid.color"]: "var(--grid)",
    REGION_SHADES["smt"]: "var(--shade-1)",
    REGION_SHADES["oversubscribed"]: "var(--shade-2)",
}
HEX = re.compile("|".join(COLOURS))


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure of the page: its id, what it is called, and its SVG, or where the file is that has
    it.

    The `address` is relative to the page, the `description` is for readers who cannot see the plot,
    `width` and `height` are those of its view box.
    """

    name: str
    title: str
    svg: str = ""
    address: str = ""
    description: str = ""
    width: str = ""
    height: str = ""


@dataclass(frozen=True, slots=True)
class Pictures:
    """How a page has its plots: drawn for it, or as the files that were written into `folder`.

    It has them inside, unless they are to stay `beside` it: `folder` is in the folder of the page.
    """

    folder: Path | None = None
    beside: bool = False

    def of(self, plot: str, name: str, draw: Draw) -> Picture:
        """The plot whose files are called `plot`; `name` must be an id that nothing else has.

        Raises `OSError` where its file is not in `folder`.
        """
        if self.folder is None:
            return picture(draw, name)
        file = self.folder / f"{plot}.svg"
        svg = file.read_text(encoding="utf-8")
        root = ET.fromstring(svg)
        title, description = (root.findtext(f"{SVG}{tag}", "") for tag in ("title", "desc"))
        if not self.beside:
            return _inside(svg, name, title)
        *_, width, height = root.get("viewBox", "").split()
        address = quote(f"{self.folder.name}/{file.name}")
        return Picture(name, title, "", address, description, width, height)

    def numbered(self, drawings: Iterable[tuple[str, Draw]], name: str) -> list[Picture]:
        """Several plots, with their numbers from 1 on in the place of `{}` in `name`."""
        every = enumerate(drawings, start=1)
        return [self.of(plot, name.format(number), draw) for number, (plot, draw) in every]


def picture(draw: Draw, name: str) -> Picture:
    """What is drawn as a picture; `name` must be an id that nothing else on the page has."""
    with mpl.rc_context(RC):
        sheet = draw()
        return _inside(sheet.svg(), name, sheet.title)


def _inside(svg: str, name: str, title: str) -> Picture:
    """The picture of a file's SVG."""
    own = one_of_several(svg, f"{name}-", ". The figures are in a table below.")
    root, _, content = HEX.sub(lambda found: COLOURS[found[0]], own).partition(">")
    return Picture(name, title, f"{OF_A_FILE.sub('', root)}>{content}")


# -------------------------------------------------------------------------------------------- parts

# A window of 1,200 pixels shows so many characters of a table, by the widest of the page's fonts.
ROOM = 124


@dataclass(frozen=True, slots=True)
class PageFigure:
    """A picture and the tables behind it, with notes on their figures.

    The tables are folded unless it `is_open`.
    """

    picture: Picture
    grids: list[Grid]
    notes: list[str] = field(default_factory=list)
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """Something about one thing: words first, then pictures, then tables, then the small print.

    A block of tables that are `folded` shows them when it is opened. `code` is shown as it is,
    below `code_title`.
    """

    title: str = ""
    words: list[str] = field(default_factory=list)
    figures: list[PageFigure] = field(default_factory=list)
    grids: list[Grid] = field(default_factory=list)
    folded: list[Grid] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    code: str = ""
    code_title: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing in it but a title."""
        return not any((self.words, self.figures, self.grids, self.folded, self.notes, self.code))


@dataclass(frozen=True, slots=True)
class PageSection:
    """A part of the page under a heading of its own; `name` is its id."""

    name: str
    title: str
    blocks: list[Block]
    about: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing under its heading."""
        return all(block.is_empty for block in self.blocks)


def in_parts(grid: Grid) -> list[Grid]:
    """The table, or several where a window has no room for all of its columns: each has the first
    ones, and the last one the note.
    """
    widths = [_least_width(grid, place) for place in range(len(grid.headings))]
    first = grid.words if grid.words < len(widths) else 1
    tables = [
        grid.columns([*range(first), *(first + place for place in places)])
        for places in packed(widths[first:], sum(widths[:first]) + first * GAP, ROOM)
    ]
    titles = [grid.title, *[f"{grid.title}, continued"] * (len(tables) - 1)]
    notes = [*[""] * (len(tables) - 1), grid.note]
    return [
        replace(table, title=title, note=note)
        for table, title, note in zip(tables, titles, notes, strict=True)
    ]


def _least_width(grid: Grid, place: int) -> int:
    """Characters that a column needs: words can be broken into lines, figures cannot."""
    lines = [line.text for row in grid.rows for line in lines_of(row[place])]
    if not grid.is_figure(place):
        lines = [word for line in lines for word in line.split()]
    return max(map(len, [*grid.headings[place].split(), *lines]), default=0)
