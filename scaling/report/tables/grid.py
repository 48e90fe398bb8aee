"""Chapters of words and tables, independent of how they are shown.

A cell is a text, an `Estimate` (a ratio has its verdict with it), or a verdict alone; the terminal,
Markdown and the page format them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from scaling.analysis.statistics.estimate import Estimate
from scaling.analysis.statistics.verdict import RatioVerdict

# The parts of the page that show figures.
type PagePart = Literal[
    "curves",
    "losses",
    "ladder",
    "processes",
    "memory",
    "versions",
    "settings",
    "loops",
    "runtimes",
]


@dataclass(frozen=True, slots=True)
class VerdictCell:
    """A verdict in words; `word` alone decides how it is coloured."""

    word: str
    text: str

    def __str__(self) -> str:
        """What is shown."""
        return self.text


type Cell = str | Estimate | VerdictCell


def word_of(cell: Cell) -> str:
    """The word for a ratio that is known; all else has none."""
    return cell.verdict.word if isinstance(cell, RatioVerdict) and cell.n else ""


@dataclass(frozen=True, slots=True)
class Grid:
    """One table. The first `words` columns are aligned left, figures right; so is a verdict left.

    `note` is shown below, a line for each of its lines. In a `grouped` table rows with the same
    first cell stand together, so that a narrow reader can show it once, above them.
    """

    title: str
    headings: list[str]
    rows: list[list[Cell]]
    words: int = 1
    note: str = ""
    grouped: bool = False

    def of(self, what: str) -> "Grid":
        """The same table, its title beginning with what it is of."""
        return replace(self, title=f"{what}: {self.title}" if self.title else what)

    def noted(self, note: str) -> "Grid":
        """The same table with a note."""
        return replace(self, note=note)

    def columns(self, places: Sequence[int]) -> "Grid":
        """The table of some of its columns, those of words first."""
        return replace(
            self,
            headings=[self.headings[place] for place in places],
            rows=[[row[place] for place in places] for row in self.rows],
            words=sum(place < self.words for place in places),
        )

    def is_figure(self, place: int) -> bool:
        """Whether a column holds figures, which are aligned right."""
        return place >= self.words and not any(
            isinstance(row[place], VerdictCell) for row in self.rows
        )

    @property
    def estimates(self) -> list[Estimate]:
        """The figures in it."""
        return [cell for row in self.rows for cell in row if isinstance(cell, Estimate)]


@dataclass(frozen=True, slots=True)
class Chapter:
    """A heading, what must be known first, and tables."""

    title: str
    words: list[str]
    grids: list[Grid] = field(default_factory=list)
