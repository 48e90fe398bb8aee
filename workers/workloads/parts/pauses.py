"""How long each operation of a worker sleeps, and how long all sleeps take together."""

import random
from collections.abc import Iterable
from heapq import heapreplace


class Pauses:
    """The pauses of a worker's operations, by number: all equal, or drawn beforehand."""

    def __init__(self, pause_s: float, drawn_s: list[float]) -> None:
        """Use the drawn pauses, one per operation; if empty, all are `pause_s`."""
        self.pause_s = pause_s
        self.drawn_s = drawn_s
        self._ends_s: list[float] = []

    def of(self, number: int) -> float:
        """Return the pause of one operation, s."""
        return self.drawn_s[number] if self.drawn_s else self.pause_s

    def shared_s(self, shares: Iterable[range]) -> float:
        """Seconds until all are done if each share sleeps one after another: the longest share."""
        if self.drawn_s:
            return max(sum(self.drawn_s[share.start : share.stop]) for share in shares)
        return max(map(len, shares)) * self.pause_s

    def relayed_s(self, count: int, in_flight: int) -> float:
        """Seconds that `count` operations take if each that ends starts the next."""
        if not self.drawn_s:
            return -(-count // in_flight) * self.pause_s
        # Kept alive: freeing a list this large would change how glibc's malloc works from then on.
        self._ends_s = [0.0] * min(count, in_flight)
        for pause_s in self.drawn_s:
            heapreplace(self._ends_s, self._ends_s[0] + pause_s)
        return max(self._ends_s)


def exponential_s(count: int, mean_s: float, seed: str) -> list[float]:
    """Draw exponential pauses, s, from a seed."""
    draw = random.Random(seed).expovariate
    drawn_s = [0.0] * count  # allocated at full size: a list that grows frees blocks
    for number in range(count):
        drawn_s[number] = mean_s * draw(1.0)
    return drawn_s
