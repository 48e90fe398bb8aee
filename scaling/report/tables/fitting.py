"""Columns that do not fit beside each other: they go into a further table, none is squeezed."""

from collections.abc import Iterable, Sequence
from itertools import zip_longest

from rich.cells import cell_len
from rich.text import Text

GAP = 1  # between columns, and after the last


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


def figure_table(
    headings: Sequence[str],
    widths: Sequence[int],
    rows: Iterable[Sequence[str]],
    places: Sequence[int],
) -> Text:
    """A table of the columns at these places; figures stand to the right, their lower lines dim.

    A `rich.table.Table` would measure all cells again, which takes several times as long.
    """

    def line(cells: Iterable[str]) -> str:
        placed = zip(places, cells, strict=True)
        return "".join(
            f"{' ' * (widths[place] - cell_len(cell))}{cell}{' ' * GAP}" for place, cell in placed
        )

    table = Text().append(line(headings[place] for place in places), "bold")
    for row in rows:
        cells = (row[place].split("\n") for place in places)
        for number, parts in enumerate(zip_longest(*cells, fillvalue="")):
            table.append(f"\n{line(parts)}", "dim" if number else None)
    return table
