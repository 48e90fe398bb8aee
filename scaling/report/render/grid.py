"""A table of texts, ready to be shown by any renderer."""

from dataclasses import dataclass, field
from typing import Literal

type Tone = Literal["", "good", "bad", "open"]


@dataclass(frozen=True, slots=True)
class Text:
    """A cell of a grid: its text, what is shown quietly beside it, and its tone."""

    text: str
    beside: str = ""
    tone: Tone = ""

    def __str__(self) -> str:
        """All of it."""
        return f"{self.text} ({self.beside})" if self.beside else self.text


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading of a column. Texts stand to the `left`, figures to the right; sentences `wrap`.

    `name` is what JSON calls it, by default the text itself.
    """

    text: str
    left: bool = False
    wrap: bool = False
    name: str = ""

    @property
    def key(self) -> str:
        """What JSON calls it."""
        return self.name or self.text


@dataclass(frozen=True, slots=True)
class Grid:
    """A title, a heading for each column, and rows with a text for each.

    `notes` stand below. `left_out` counts rows that are not in it, because there are too many.
    """

    title: str
    headings: list[Heading]
    rows: list[list[Text]]
    notes: list[str] = field(default_factory=list)
    left_out: int = 0
