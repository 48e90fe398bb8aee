"""Grids, documents and answers in a terminal. Rich decides all widths."""

from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console, Group, RenderableType
from rich.measure import Measurement, measure_renderables
from rich.segment import Segment, SegmentLines
from rich.table import Table
from rich.text import Text as RichText

from scaling.base.formats import plural
from scaling.report.render.document import Document
from scaling.report.render.grid import Grid, Text

LINES = 24  # that every terminal has
WIDTH = 100  # wider lines are hard to read
UNBOUNDED = 10_000  # wider than any table
SENTENCE_WIDTH = 16  # of a column that wraps, at least
BESIDE, BELOW = " ", "\n"  # where the interval of a figure stands
STYLES = {"good": "green", "bad": "bold red", "open": "yellow", "": ""}


def table(grid: Grid, console: Console) -> Group:
    """A grid as tables of rich.

    Intervals are beside figures, or below if that is too wide. Columns without room are in another
    table.
    """
    left_out = f"{plural(grid.left_out, 'more row')} with --details." if grid.left_out else ""
    below = " ".join(filter(None, (*grid.notes, left_out)))
    return Group(
        *([RichText(grid.title, "bold")] if grid.title else ()),
        *_parts(grid, console),
        *([RichText(below, "dim")] if below else ()),
    )


def _parts(grid: Grid, console: Console) -> list[Table]:
    unbounded = console.options.update(width=UNBOUNDED)
    room = min(WIDTH, console.width)

    def fits(found: Table) -> bool:
        return Measurement.get(console, unbounded, found).minimum <= room

    for place in (BESIDE, BELOW):
        if fits(found := _table(grid, place, console)):
            return [found]
    names, columns = grid.names, range(len(grid.headings))
    for end in range(len(columns), names, -1):
        found = _table(grid.part(columns[:end]), BELOW, console)
        if fits(found) or end == names + 1:
            rest = [*columns[:names], *columns[end:]]
            more = _parts(grid.part(rest), console) if columns[end:] else []
            return [found, *more]
    return [_table(grid, BELOW, console)]


def _table(grid: Grid, place: str, console: Console) -> Table:
    unbounded = console.options.update(width=UNBOUNDED)
    found = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    rows = [[_cell(each, place) for each in row] for row in grid.rows]
    for heading, texts in zip(grid.headings, zip(*rows, strict=True), strict=True):
        head = RichText(heading.text, "dim")
        width = measure_renderables(console, unbounded, [head, *texts])
        found.add_column(
            head,
            justify="left" if heading.left else "right",
            no_wrap=not heading.wrap,
            overflow="fold",
            min_width=max(width.minimum, min(SENTENCE_WIDTH, width.maximum))
            if heading.wrap
            else width.maximum,
        )
    for row in rows:
        found.add_row(*row)
    return found


def _cell(text: Text, place: str) -> RichText:
    found = RichText(text.text, STYLES[text.tone])
    return found.append(f"{place}{text.beside}", "dim") if text.beside else found


def print_document(found: Document, console: Console) -> None:
    """Print warnings, tables, notes, and last the sentence."""
    for text in found.warnings:
        console.print(RichText(text))
    for grid in found.answer:
        console.print(table(grid, console))
        console.print()
    for text in filter(None, (*found.notes, found.sentence)):
        console.print(RichText(text))


def print_answer(answer: Document, console: Console, most: int | None = None) -> None:
    """Print an answer in at most `most` lines.

    The last rows of the longest tables are left out, then the last lines; their number is printed.
    """
    if most is None:
        console.print(_group(answer, console))
        return
    options = console.options.update(width=min(WIDTH, console.width))
    lines = console.render_lines(_group(answer, console), options, pad=False)
    while len(lines) > most and (shorter := _shorter(answer.answer, len(lines) - most)):
        answer = replace(answer, answer=shorter)
        lines = console.render_lines(_group(answer, console), options, pad=False)
    if len(lines) > most:
        more = f"… {len(lines) - most + 1} more lines: scaling show RESULTS --details"
        lines = [*lines[: most - 1], [Segment(more)]]
    console.print(SegmentLines(lines, new_lines=True), end="")


def _group(answer: Document, console: Console) -> Group:
    head = RichText(f"{answer.title}: " if answer.sentence else answer.title, "bold")
    parts: list[RenderableType] = [head.append(RichText(answer.sentence, "not bold"))]
    parts += [table(grid, console) for grid in answer.answer]
    parts += [RichText(" ".join(answer.notes), "dim")] if answer.notes else []
    return Group(*parts)


def _shorter(grids: Sequence[Grid], lines: int) -> list[Grid]:
    """The tables with fewer rows in the longest, to save `lines`; empty if each has one row.

    A row usually has three lines at most.
    """
    longest = max(grids, key=lambda grid: len(grid.rows), default=None)
    if longest is None or len(longest.rows) < 2:
        return []
    keep = max(1, len(longest.rows) - max(1, lines // 3))
    left_out = longest.left_out + len(longest.rows) - keep
    shorter = replace(longest, rows=longest.rows[:keep], left_out=left_out)
    return [shorter if grid is longest else grid for grid in grids]
