"""Chapters shown: by rich on a terminal, as Markdown in a file."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Literal

from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from scaling.analysis.statistics.estimate import Estimate
from scaling.analysis.statistics.verdict import RatioVerdict
from scaling.base import formats
from scaling.report.tables.fitting import GAP, packed, width_of
from scaling.report.tables.grid import Cell, Chapter, Grid, VerdictCell
from scaling.report.tables.pipes import pipe_table, unbroken

BETWEEN = 2  # characters between columns
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
    for places in islice(_parts(grid, rows, room), most):
        yield _table(grid, rows, places)
    if grid.note:
        yield Text(grid.note, "dim")


def _parts(grid: Grid, rows: list[list[Text]], room: int) -> Iterator[list[int]]:
    """The places of the columns for one table after the other: columns of figures that find no room
    beside the others are in a further one. Where words need the room they are broken instead.
    """
    columns = zip(grid.headings, *(map(str, row) for row in rows), strict=True)
    widths = [width_of(column) + BETWEEN - GAP for column in columns]
    leading = sum(widths[: grid.words]) + grid.words * GAP
    places = range(len(widths))
    figures = places[grid.words :]
    if not figures or leading > max(room, WIDTH) / 2 or not all(map(grid.is_figure, figures)):
        yield [*places]
        return
    for part in packed(widths[grid.words :], leading, room):
        yield [*places[: grid.words], *(grid.words + place for place in part)]


def _table(grid: Grid, rows: list[list[Text]], places: Sequence[int]) -> Table:
    table = Table(box=None, padding=(0, BETWEEN, 0, 0), pad_edge=False)
    for place in places:
        justify: Literal["right", "left"] = "right" if grid.is_figure(place) else "left"
        table.add_column(grid.headings[place], justify=justify, overflow="fold")
    for row in rows:
        table.add_row(*(row[place] for place in places))
    return table


def _cell(cell: Cell) -> Text:
    """An estimate: the median above, its range or interval below; of a ratio, then the verdict."""
    if isinstance(cell, str | VerdictCell):
        return Text(str(cell))
    text = Text(formats.number(cell.point))
    for below in (cell.bounds, _verdict(cell)):
        text = text.append(f"\n{below}", "dim") if below else text
    return text


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
        parts.append(pipe_table(grid.headings, rows, figures))
        if grid.note:
            lines = grid.note.split("\n")
            parts.append("\n".join(f"- {unbroken(line)}" for line in lines))
    return "\n\n".join(parts)


def _inline(cell: Cell) -> str:
    if isinstance(cell, str | VerdictCell):
        return unbroken(str(cell).replace("\n", " · "))
    return " ".join(filter(None, (str(cell), _verdict(cell))))
