"""A table of texts, ready to be shown by any renderer."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

type Tone = Literal["", "good", "bad", "open"]


@dataclass(frozen=True, slots=True)
class Text:
    """A cell of a grid: a text, a dimmed text `beside` it, its tone, the address of a link."""

    text: str
    beside: str = ""
    tone: Tone = ""
    link: str = ""

    def __str__(self) -> str:
        """The text, with the text beside it in brackets."""
        return f"{self.text} ({self.beside})" if self.beside else self.text


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading of a column. Text columns are aligned `left`, figures right; sentences `wrap`.

    `name` is the key in JSON, by default the text.
    """

    text: str
    left: bool = False
    wrap: bool = False
    name: str = ""

    @property
    def key(self) -> str:
        """The key in JSON."""
        return self.name or self.text


@dataclass(frozen=True, slots=True)
class Grid:
    """A table: a title, headings, and rows with a text for each column.

    `notes` are below the table. `left_out` is the number of rows that were left out.
    """

    title: str
    headings: list[Heading]
    rows: list[list[Text]]
    notes: list[str] = field(default_factory=list)
    left_out: int = 0

    def part(self, columns: Iterable[int]) -> "Grid":
        """The grid with these of its columns."""
        kept = list(columns)
        rows = [[row[at] for at in kept] for row in self.rows]
        return replace(self, headings=[self.headings[at] for at in kept], rows=rows)

    @property
    def names(self) -> int:
        """The number of columns that name a row: those before the first figure."""
        return next((at for at, each in enumerate(self.headings) if not each.left), 1)

    def parts(self, most: int) -> "Iterator[Grid]":
        """The grid in parts, each with the names and at most `most` other columns."""
        names, every = range(self.names), range(self.names, len(self.headings))
        for start in range(0, len(every) or 1, most):
            part = self.part([*names, *every[start : start + most]])
            is_last = start + most >= len(every)
            title = f"{self.title}, continued" if start else self.title
            yield replace(part, title=title, notes=self.notes if is_last else [])
