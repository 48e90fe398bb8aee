"""Test of a suspected cause: does the fault show more often with it than chance allows?"""

from collections.abc import Sequence
from math import comb

CHANCE = 0.05  # of a cause that is named and does nothing, at most
MOST_TRIES = 5  # of each kind


def is_cause(with_it: Sequence[bool], without: Sequence[bool]) -> bool | None:
    """Return whether a fault has this cause, or None if more tries are needed.

    `with_it` and `without` say in which tries the fault showed, as many of each kind. It must never
    show without the cause. Then Fisher's exact test, one-sided, says how likely it is
    that all the tries in which it showed are among those with the cause.
    """
    if any(without):
        return False
    tries, shown = len(with_it), sum(with_it)
    if comb(tries, shown) / comb(2 * tries, shown) <= CHANCE:
        return True
    return None if tries < MOST_TRIES else False
