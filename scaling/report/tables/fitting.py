"""Columns that do not fit beside each other: they go into a further table, none is squeezed."""

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

GAP = 1  # between columns, and after the last


def width_of(column: Iterable[str | Text]) -> int:
    """How wide the widest line of a column is, its heading among them."""
    return max(cell_len(line) for cell in column for line in str(cell).split("\n"))


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


def figure_table(
    headings: Sequence[str],
    widths: Sequence[int],
    rows: Iterable[Sequence[RenderableType]],
    places: Sequence[int],
) -> Table:
    """A table of the columns at these places; figures stand to the right."""
    table = Table(box=None, padding=(0, GAP, 0, 0))
    for place in places:
        heading = Text(headings[place])
        table.add_column(heading, justify="right", min_width=widths[place], overflow="fold")
    for row in rows:
        table.add_row(*(row[place] for place in places))
    return table
