"""Chapters shown: by rich on a terminal, as Markdown in a file."""

from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from typing import Literal

from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from scaling.analysis.statistics.estimate import Estimate
from scaling.analysis.statistics.verdict import RatioVerdict
from scaling.base import formats
from scaling.report.tables.fitting import GAP, packed, spaced, width_of
from scaling.report.tables.grid import Cell, Chapter, Grid, VerdictCell
from scaling.report.tables.pipes import pipe_table, unbroken

WIDTH = 80  # characters that every terminal has


class Comparison:
    """Chapters to be printed by rich; every table fits 80 columns without a figure cut.

    Columns that find no room are in a further table, or with `in_short` left out.
    """

    def __init__(self, chapters: list[Chapter], *, in_short: bool = False) -> None:
        self._chapters = chapters
        self._most = 1 if in_short else None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Heading, words, tables, for each chapter."""
        del console
        for chapter in self._chapters:
            yield Text(chapter.title, "bold")
            for sentence in chapter.words:
                yield Padding(Text(sentence), (0, 0, 0, 2))
            for grid in chapter.grids:
                yield from _grid(grid, options.max_width, self._most)
            yield Text()


def _grid(grid: Grid, room: int, most: int | None = None) -> Iterator[Text | Table]:
    """One table after the other, so many at `most`."""
    if grid.title:
        yield Text(f"\n{grid.title}", "italic")
    rows = [list(map(_cell, row)) for row in grid.rows]
    columns = [list(column) for column in zip(grid.headings, *rows, strict=True)]
    widths = [width_of(column) for column in columns]
    first = 1 if grid.grouped else 0
    tables = [*islice(_parts(grid, widths, first, room), most)]
    for name, members in groupby(rows, key=lambda row: row[0] if grid.grouped else ""):
        if name:
            yield Text(name, "italic")
        group = list(members)
        for places in tables:
            yield _table(grid, widths, group, places, room)
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
    grid: Grid, widths: Sequence[int], rows: list[list[str]], places: Sequence[int], room: int
) -> Text | Table:
    """Set by its widths; only where words must be broken, rich measures all cells again."""
    to_the_right = set(filter(grid.is_figure, places))
    if sum(widths[place] + GAP for place in places) <= room:
        return spaced(grid.headings, widths, rows, places, to_the_right)
    table = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False)
    for place in places:
        justify: Literal["right", "left"] = "right" if place in to_the_right else "left"
        table.add_column(grid.headings[place], justify=justify, overflow="fold")
    for row in rows:
        table.add_row(*(Text(row[place]) for place in places))
    return table


def _cell(cell: Cell) -> str:
    """An estimate: the median above, its range or interval below; of a ratio, then the verdict."""
    if isinstance(cell, str | VerdictCell):
        return str(cell)
    return "\n".join(filter(None, (formats.number(cell.point), cell.bounds, _verdict(cell))))


def _verdict(cell: Estimate) -> str:
    """The word for a ratio that is known; others have none."""
    return cell.verdict.word if isinstance(cell, RatioVerdict) and cell.n else ""


def comparison_markdown(chapters: list[Chapter]) -> str:
    """The same as Markdown; empty if there is no chapter."""
    return "\n\n".join(_markdown(chapter) for chapter in chapters)


def _markdown(chapter: Chapter) -> str:
    parts = [f"### {chapter.title}"]
    if chapter.words:
        parts.append("\n".join(f"- {unbroken(sentence)}" for sentence in chapter.words))
    for grid in chapter.grids:
        if grid.title:
            parts.append(f"**{grid.title}**")
        rows = [[_inline(cell) for cell in row] for row in grid.rows]
        figures = [place for place in range(len(grid.headings)) if grid.is_figure(place)]
        parts.append(pipe_table(list(map(unbroken, grid.headings)), rows, figures))
        if grid.note:
            lines = grid.note.split("\n")
            parts.append("\n".join(f"- {unbroken(line)}" for line in lines))
    return "\n\n".join(parts)


def _inline(cell: Cell) -> str:
    if isinstance(cell, str | VerdictCell):
        return unbroken(str(cell).replace("\n", " · "))
    return " ".join(filter(None, (str(cell), _verdict(cell))))
