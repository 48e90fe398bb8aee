"""Columns that do not fit beside each other: they go into a further table, none is squeezed."""

from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import zip_longest

from rich.cells import cell_len
from rich.text import Text

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


def spaced(
    headings: Sequence[str],
    widths: Sequence[int],
    rows: Iterable[Sequence[str]],
    places: Sequence[int],
    to_the_right: Container[int],
) -> Text:
    """A table of the columns at these places, as wide as stated; lower lines of cells are dim.

    A `rich.table.Table` would measure all cells again, which takes several times as long.
    """

    def lines(cells: Iterable[Sequence[str]]) -> Iterator[str]:
        for parts in zip_longest(*cells, fillvalue=""):
            placed = zip(parts, places, strict=True)
            line = "".join(_set(part, widths[at], at in to_the_right) for part, at in placed)
            yield line.rstrip()

    above = [headings[place].split("\n") for place in places]
    most = max(map(len, above))
    heads = lines([*[""] * (most - len(each)), *each] for each in above)  # they end on one line
    table = Text("\n").join(Text(line, "bold") for line in heads)
    for row in rows:
        for number, line in enumerate(lines(row[place].split("\n") for place in places)):
            table.append(f"\n{line}", "dim" if number else None)
    return table


def _set(cell: str, width: int, to_the_right: bool) -> str:
    room = " " * (width - cell_len(cell))
    return f"{room}{cell}{' ' * GAP}" if to_the_right else f"{cell}{room}{' ' * GAP}"
