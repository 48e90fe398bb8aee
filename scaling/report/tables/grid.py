"""Chapters of words and tables, independent of how they are shown.

A cell is a text, an `Estimate` (a ratio has its verdict with it), or a verdict alone; the terminal,
Markdown and the page format them.
"""

from collections.abc import Container, Iterable, Sequence
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
    first cell stand together, so that a narrow reader can show it once, above them. `pages` has for
    each row the address of the page that it is from: on a page, its figures lead there.
    """

    title: str
    headings: list[str]
    rows: list[list[Cell]]
    words: int = 1
    note: str = ""
    grouped: bool = False
    pages: Sequence[str] = ()

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


# ----------------------------------------------------------------------------------------- markdown
# Chapters and tables as Markdown: no text from outside can break them.


def chapters_markdown(chapters: Iterable[Chapter]) -> str:
    """A section for each; empty if there is no chapter."""
    return "\n\n".join(map(_chapter, chapters))


def _chapter(chapter: Chapter) -> str:
    parts = [f"### {chapter.title}"]
    if chapter.words:
        parts.append(_listed(chapter.words))
    return "\n\n".join([*parts, *map(grid_markdown, chapter.grids)])


def grid_markdown(grid: Grid) -> str:
    """The title, the table, and its note as a list."""
    rows = [list(map(_cell, row)) for row in grid.rows]
    figures = [place for place in range(len(grid.headings)) if grid.is_figure(place)]
    table = pipe_table(list(map(unbroken, grid.headings)), rows, figures)
    title = f"**{grid.title}**" if grid.title else ""
    return "\n\n".join(filter(None, (title, table, _listed(grid.note.split("\n")))))


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {unbroken(line)}" for line in lines if line)


def _cell(cell: Cell) -> str:
    words = " ".join(filter(None, (str(cell), word_of(cell))))
    return unbroken(words.replace("\n", " · "))


def pipe_table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], figures: Container[int]
) -> str:
    """A table; the columns at the places of `figures` stand to the right."""
    rules = ["---:" if place in figures else "---" for place in range(len(headings))]
    return "\n".join(f"| {' | '.join(row)} |" for row in [headings, rules, *rows])


def unbroken(text: str) -> str:
    """Text, kept from breaking the table or the list it stands in; what is code stays code."""
    plain = text if "`" in text else text.replace("*", r"\*")
    return plain.replace("|", r"\|").replace("\n", " ")
