"""What a page is made of, before it is HTML: parts, blocks, and figures with their tables."""

from dataclasses import dataclass, field

from scaling.report.page.picture import Picture
from scaling.report.tables.grid import Grid


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
