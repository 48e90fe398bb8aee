"""What a page is made of, before it is HTML: parts, blocks, and figures with their tables."""

from dataclasses import dataclass, field, replace

from scaling.base import formats
from scaling.report.page.picture import Picture
from scaling.report.tables.fitting import GAP, packed
from scaling.report.tables.grid import Cell, Grid, VerdictCell, word_of

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

    A block of tables that are `folded` shows them when it is opened.
    """

    title: str = ""
    words: list[str] = field(default_factory=list)
    figures: list[PageFigure] = field(default_factory=list)
    grids: list[Grid] = field(default_factory=list)
    folded: list[Grid] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    code: str = ""

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
    lines = [line for row in grid.rows for line in _lines(row[place])]
    if not grid.is_figure(place):
        lines = [word for line in lines for word in line.split()]
    return max(map(len, [*grid.headings[place].split(), *lines]), default=0)


def _lines(cell: Cell) -> list[str]:
    if isinstance(cell, str | VerdictCell):
        return str(cell).split("\n")
    return [formats.number(cell.point), cell.bounds, word_of(cell)]
