"""Cases of two settings: half of the pairs on each build, each setting on both."""

from collections.abc import Iterable

from tests.support.children import FREE_THREADED


def on_this_build[One, Other](
    settings: Iterable[One], others: Iterable[Other]
) -> list[tuple[One, Other]]:
    """The pairs that this build tries, as the squares of a chessboard have two colours.

    Where each setting works with each other one, what is left to find is a pair that does not: it
    is tried on one of the two builds.
    """
    columns = list(others)
    return [
        (one, other)
        for row, one in enumerate(settings)
        for column, other in enumerate(columns)
        if (row + column) % 2 == FREE_THREADED
    ]
