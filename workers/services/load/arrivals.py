"""When requests are due: one absolute schedule, the same for a seed however many processes send.

Times are offsets in ns from the schedule's begin. They are drawn one by one and never stored.
"""

import random
from collections.abc import Iterator

KINDS = ("poisson", "constant")


def arrivals(kind: str, rate_per_s: float, seed: int) -> Iterator[int]:
    """Offsets at which requests are due, without end.

    `poisson`: independent exponential gaps, drawn from `seed`. `constant`: equal gaps.
    """
    return _poisson(rate_per_s, seed) if kind == "poisson" else _constant(rate_per_s)


def share(offsets: Iterator[int], kind: str, seed: int, place: int, of: int) -> Iterator[int]:
    """The part of a schedule that process `place` (from 0) out of `of` sends.

    Equal gaps are dealt in turn. Poisson arrivals are dealt at random, so that each part is a
    Poisson process itself (splitting).
    """
    if of == 1:
        return offsets
    if kind == "constant":
        return (offset for turn, offset in enumerate(offsets) if turn % of == place)
    owner = random.Random(f"owner {seed}").randrange
    return (offset for offset in offsets if owner(of) == place)


def _poisson(rate_per_s: float, seed: int) -> Iterator[int]:
    gap_s = random.Random(seed).expovariate
    at_s = 0.0
    while True:
        at_s += gap_s(rate_per_s)
        yield int(at_s * 1e9)


def _constant(rate_per_s: float) -> Iterator[int]:
    turn = 0
    while True:
        yield int(turn * 1e9 / rate_per_s)
        turn += 1
