"""Chapters of words and tables, and how a terminal (by rich) and Markdown show them.

A cell is a text, an `Estimate` (a ratio has its verdict with it), or a verdict alone; terminal,
Markdown and page format them.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, groupby, islice, zip_longest
from typing import Literal, NamedTuple

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.control import strip_control_codes
from rich.padding import Padding
from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Text

from scaling.analysis.statistics.estimate import Estimate
from scaling.analysis.statistics.verdict import RatioVerdict
from scaling.base import formats

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


def or_bound(value: Estimate, bound: str) -> Estimate | str:
    """The figure; where it is a `bound`, `≥ 4,000`: no interval goes with it."""
    return f"{bound} {formats.number(value.point)}" if bound else value


@dataclass(frozen=True, slots=True)
class Grid:
    """One table. The first `words` columns are aligned left, figures right; so is a verdict left.

    `note` is shown below, a line for each of its lines. In a `grouped` table rows with the same
    first cell stand together, so that a narrow reader can show it once, above them. Columns for
    which a terminal has no room are in a further table there, or with `in_short` left out.
    """

    title: str
    headings: list[str]
    rows: list[list[Cell]]
    words: int = 1
    note: str = ""
    grouped: bool = False
    in_short: bool = False

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

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The title, the table, its note; it fits 80 columns without a figure cut."""
        del console
        if self.title:
            yield Text(self.title)
        yield from _parts_of(self, options.max_width)


@dataclass(frozen=True, slots=True)
class Chapter:
    """A heading, what must be known first, and tables."""

    title: str
    words: list[str]
    grids: list[Grid] = field(default_factory=list)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Heading, words, tables."""
        del console
        yield Text(self.title, "bold")
        for sentence in self.words:
            yield Padding(Text(sentence), (0, 0, 0, 2))
        for grid in self.grids:
            if grid.title:
                yield Text(f"\n{grid.title}", "italic")
            yield from _parts_of(grid, options.max_width)
        yield Text()


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


# ------------------------------------------------------------------------------------------ fitting
# Columns that do not fit beside each other: they go into a further table, none is squeezed.

GAP = 2  # between columns, and after the last


def width_of(column: Iterable[str]) -> int:
    """How wide the widest line of a column is, its heading among them."""
    return max(cell_len(line) for cell in column for line in cell.split("\n"))


def packed(widths: Sequence[int], leading: int, room: int) -> list[list[int]]:
    """The places of the columns for one table after the other, in their order.

    Each table has `leading` characters before them, and at least one of them.
    """
    tables: list[list[int]] = []
    used = room
    for place, width in enumerate(widths):
        if not tables or used + width + GAP > room:
            tables.append([])
            used = leading
        tables[-1].append(place)
        used += width + GAP
    return tables


# ----------------------------------------------------------------------------------------- terminal

WIDTH = 80  # characters that every terminal has

GOOD, BAD, OPEN = "green", "bold red", "yellow"
STYLES = (
    dict.fromkeys(("faster", "less", "better", "holds"), GOOD)
    | dict.fromkeys(("slower", "more", "worse", "fails", "does not hold"), BAD)
    | {"inconclusive": OPEN, "cannot be tested here": "dim"}
)
"""Words for what was found, and the colours that they have."""
BELOW = "dim"  # a range or an interval, or what a word rests on


class Line(NamedTuple):
    """A line of a cell."""

    text: str
    style: str = ""


def _spaced(
    grid: Grid,
    widths: Sequence[int],
    rows: Sequence[Sequence[Sequence[Line]]],
    places: Sequence[int],
    *,
    heads: bool,
) -> Iterator[Segment]:
    """A table of the columns at these places, as wide as stated; headings end on one line.

    Its lines are printed as they are, in as few pieces as styles allow: rich would look in each for
    places to break it, which takes most of the time of a long output.
    """
    columns = [(widths[at], grid.is_figure(at)) for at in places]
    lines = [[row[at] for at in places] for row in rows]
    if heads:
        named = [[Line(part, "bold") for part in grid.headings[at].split("\n")] for at in places]
        most = max(map(len, named))
        lines.insert(0, [[*[Line("")] * (most - len(each)), *each] for each in named])
    plain = ""
    for cells in lines:
        for parts in zip_longest(*cells, fillvalue=Line("")):
            gap = 0
            for part, (width, right) in zip(parts, columns, strict=True):
                if not part.text:
                    gap += width + GAP
                    continue
                room = width - cell_len(part.text)
                plain += " " * (gap + (room if right else 0))
                text = strip_control_codes(part.text)
                if part.style:
                    yield Segment(plain)
                    yield Segment(text, Style.parse(part.style))
                    plain = ""
                else:
                    plain += text
                gap = GAP + (0 if right else room)
            plain += "\n"
    yield Segment(plain)


def _parts_of(grid: Grid, room: int) -> Iterator[Text | Segment | Table]:
    """One table after the other, and the note."""
    rows = [list(map(lines_of, row)) for row in grid.rows]
    texts = ([line.text for line in cell] for row in rows for cell in row)
    every = [*(heading.split("\n") for heading in grid.headings), *texts]
    count = len(grid.headings)
    widths = [width_of(chain(*every[place::count])) for place in range(count)]
    first = 1 if grid.grouped else 0
    tables = [*islice(_parts(grid, widths, first, room), 1 if grid.in_short else None)]
    heads = True
    for name, members in groupby(rows, key=lambda row: row[0] if grid.grouped else []):
        group = list(members)
        if heads and grid.grouped and len(tables) == 1:  # one line of headings for all groups
            yield from _table(grid, widths, [], tables[0], room)
            heads = False
        if name:
            yield Text(name[0].text, "italic")
        for places in tables:
            yield from _table(grid, widths, group, places, room, heads=heads)
    if grid.note:
        yield Text(grid.note, "dim")


def _parts(grid: Grid, widths: Sequence[int], first: int, room: int) -> Iterator[list[int]]:
    """The places of the columns for one table after the other: columns of figures that find no room
    beside the others are in a further one. Where words need the room they are broken instead.
    """
    words, figures = range(first, grid.words), range(grid.words, len(widths))
    leading = sum(widths[place] + GAP for place in words)
    if not figures or leading > max(room, WIDTH) / 2 or not all(map(grid.is_figure, figures)):
        yield [*words, *figures]
        return
    for part in packed([widths[place] for place in figures], leading, room):
        yield [*words, *(figures[place] for place in part)]


def _table(
    grid: Grid,
    widths: Sequence[int],
    rows: Sequence[Sequence[Sequence[Line]]],
    places: Sequence[int],
    room: int,
    *,
    heads: bool = True,
) -> Iterable[Segment | Table]:
    """Set by its widths; only where words must be broken, rich measures all cells again, which
    takes several times as long. Of a group only the last column is broken, so that groups align.
    """
    if sum(widths[place] for place in places) + GAP * (len(places) - 1) <= room:
        return _spaced(grid, widths, rows, places, heads=heads)
    table = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False, show_header=heads)
    aligned = places[:-1] if grid.grouped else ()
    for place in places:
        justify: Literal["right", "left"] = "right" if grid.is_figure(place) else "left"
        width = widths[place] if place in aligned else None
        table.add_column(grid.headings[place], justify=justify, width=width, overflow="fold")
    for row in rows:
        table.add_row(*(Text("\n").join(Text(*line) for line in row[place]) for place in places))
    return [table]


def lines_of(cell: Cell) -> list[Line]:
    """A text as it is; a verdict in its colour, what it rests on below; an estimate: the median
    above, its range or interval below; of a ratio, then the verdict.
    """
    if isinstance(cell, str):
        return [Line(text) for text in cell.split("\n")]
    if isinstance(cell, VerdictCell):
        above, *below = cell.text.split("\n")
        return [Line(above, STYLES.get(cell.word, "")), *(Line(text, BELOW) for text in below)]
    lines = [Line(formats.number(cell.point))]
    lines += [Line(cell.bounds, BELOW)] if cell.bounds else []
    word = word_of(cell)
    return [*lines, Line(word, STYLES.get(word, ""))] if word else lines
