"""Columns that do not fit beside each other: they go into a further table, none is squeezed."""

from collections.abc import Iterable, Sequence

from rich.cells import cell_len

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
