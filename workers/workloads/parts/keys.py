"""Keys by which data are read: a part of them, and how hot each is."""

import random
from array import array
from bisect import bisect
from collections.abc import Sequence
from itertools import accumulate

DRAWN = 1 << 17  # keys drawn beforehand: 512 KiB
SEED = 1
SCATTER = 2_654_435_761  # a prime, so that each rank has a place of its own


def part_of(count: int, percent: float) -> Sequence[int]:
    """Keys of that part of `count` objects, at random places among those that are not read."""
    if percent >= 100:
        return range(count)
    chance = random.Random(SEED).random
    return array("I", (key for key in range(count) if 100 * chance() < percent))


def drawn(part: Sequence[int], exponent: float, seed: int = SEED) -> "array[int]":
    """`DRAWN` keys by a Zipf law: the k-th hottest is drawn in proportion to 1 / k^exponent.

    With 0 all are as hot. Which ones are hot has nothing to do with their places.
    """
    chance, count = random.Random(seed).random, len(part)
    if not exponent:
        return array("I", (part[int(chance() * count)] for _ in range(DRAWN if part else 0)))
    weights = array("d", accumulate((rank + 1) ** -exponent for rank in range(count)))
    ranks = (bisect(weights, chance() * weights[-1], hi=count - 1) for _ in range(DRAWN))
    return array("I", (part[rank * SCATTER % count] for rank in ranks))
