"""When requests are due: one absolute schedule, the same for a seed however many processes send.

Times are offsets in ns from the start of the schedule. They are drawn one by one and never stored.
"""

import random
from collections.abc import Iterator
from typing import NamedTuple

KINDS = ("poisson", "constant")
NS_PER_S = 1e9


class Overload(NamedTuple):
    """A stretch of the measurement with `factor` times the rate; `after_s` from its start."""

    factor: float
    after_s: float
    lasts_s: float

    @property
    def ends_s(self) -> float:
        """From the start of the measurement."""
        return self.after_s + self.lasts_s


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


def overloaded(offsets: Iterator[int], overload: Overload, opens_ns: int) -> Iterator[int]:
    """The schedule with an overload in the measurement that begins at `opens_ns`.

    Time is compressed there, so Poisson arrivals stay a Poisson process (time change), and any part
    of a schedule can be overloaded by itself.
    """
    begins_ns = opens_ns + int(overload.after_s * NS_PER_S)
    lasts_ns = int(overload.lasts_s * NS_PER_S)
    compressed_ns = int(lasts_ns * overload.factor)
    for offset in offsets:
        passed_ns = offset - begins_ns
        if passed_ns < 0:
            yield offset
        elif passed_ns < compressed_ns:
            yield begins_ns + int(passed_ns / overload.factor)
        else:
            yield offset - compressed_ns + lasts_ns


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
