"""Grids and sentences in a terminal. Rich decides all widths; nothing is measured here."""

from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.segment import Segment, SegmentLines
from rich.table import Table
from rich.text import Text as RichText

from scaling.report.render.grid import Grid, Text

LINES = 24  # that every terminal has
WIDTH = 100  # wider lines are hard to read
UNBOUNDED = 10_000  # wider than any table
SENTENCE_WIDTH = 12  # of a column that wraps, at least
STYLES = {"good": "green", "bad": "bold red", "open": "yellow", "": ""}


def table(grid: Grid, console: Console) -> Table:
    """A grid as a table of rich; without what stands quietly beside figures where that is too wide.

    The whole is one step away: on the page, and in a wider terminal.
    """
    whole = _table(grid, beside=True)
    needed = Measurement.get(console, console.options.update(width=UNBOUNDED), whole).minimum
    return whole if needed <= min(WIDTH, console.width) else _table(grid, beside=False)


def _table(grid: Grid, *, beside: bool) -> Table:
    found = Table(
        title=RichText(grid.title, "bold", overflow="fold") if grid.title else None,
        title_justify="left",
        caption=_caption(grid),
        caption_justify="left",
        box=SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for heading in grid.headings:
        found.add_column(
            RichText(heading.text, "dim"),
            justify="left" if heading.left else "right",
            vertical="bottom",
            no_wrap=not heading.wrap,
            min_width=SENTENCE_WIDTH if heading.wrap else None,
        )
    for row in grid.rows:
        found.add_row(*(_cell(each, beside=beside) for each in row))
    return found


def _cell(text: Text, *, beside: bool) -> RichText:
    found = RichText(text.text, STYLES[text.tone])
    return found.append(f" {text.beside}", "dim") if beside and text.beside else found


def _caption(grid: Grid) -> RichText | None:
    left_out = f"{grid.left_out} more rows with --details." if grid.left_out else ""
    text = " ".join(filter(None, (*grid.notes, left_out)))
    return RichText(text, "dim") if text else None


def answer(
    title: str,
    sentence: str,
    grids: Iterable[Grid],
    notes: Sequence[str],
    console: Console,
) -> Group:
    """The answer of a study: what it is of, a sentence, tables, and what must be known of them."""
    parts: list[RenderableType] = [RichText(title, "bold")]
    parts += [RichText(sentence)] if sentence else []
    parts += [table(grid, console) for grid in grids]
    parts += [RichText(note, "dim") for note in notes]
    return Group(*parts)


def print_cropped(found: RenderableType, console: Console, most: int = LINES) -> None:
    """Print the first lines, and how many were left out where there are more than `most`."""
    options = console.options.update(width=min(WIDTH, console.width))
    lines = console.render_lines(found, options, pad=False)
    if len(lines) > most:
        left_out = len(lines) - most + 1
        more = f"… {left_out} more lines: scaling show RESULTS --details"
        lines = [*lines[: most - 1], [Segment(more)]]
    console.print(SegmentLines(lines, new_lines=True), end="")
