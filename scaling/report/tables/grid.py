"""Chapters of words and tables, before it is known how they will be shown.

A cell is a text or an `Estimate`, a ratio one with its verdict; the terminal, Markdown and the
report make of it what they can.
"""

from dataclasses import dataclass, field, replace

from scaling.analysis.statistics.estimate import Estimate

type Cell = str | Estimate


@dataclass(frozen=True, slots=True)
class Grid:
    """One table. Columns of figures stand to the right, `words` says how many do not."""

    title: str
    headings: list[str]
    rows: list[list[Cell]]
    words: int = 1
    note: str = ""

    def of(self, what: str) -> "Grid":
        """The same table, its title beginning with what it is of."""
        return replace(self, title=f"{what}: {self.title}")

    @property
    def estimates(self) -> list[Estimate]:
        """The figures in it."""
        return [cell for row in self.rows for cell in row if isinstance(cell, Estimate)]


@dataclass(frozen=True, slots=True)
class Chapter:
    """A heading, what it comes to in words, and the tables that bear it out."""

    title: str
    words: list[str]
    grids: list[Grid] = field(default_factory=list)
