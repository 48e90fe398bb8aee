"""Timers: how long operations sleep, how late sleeps end, and how late a periodic timer runs."""

import asyncio
import random
import time
from collections.abc import Iterable
from heapq import heapreplace

# ----------------------------------------------------------------------------------------- lateness
# How late sleeps end: the time they took minus the time requested.

# A sleep that is early by less than this is not: clock resolution and rounding explain it.
TOLERANCE_NS = 1_000


class Lateness:
    """Counts completed sleeps, and by how much they were late or early."""

    __slots__ = ("_count", "_early", "_late_max_ns", "_late_ns")

    def __init__(self) -> None:
        self._count = self._early = 0
        self._late_ns = self._late_max_ns = 0

    def add(self, requested_ns: int, took_ns: int) -> None:
        """Count one sleep."""
        late_ns = took_ns - requested_ns
        self._count += 1
        self._early += late_ns < -TOLERANCE_NS
        self._late_ns += late_ns
        self._late_max_ns = max(self._late_max_ns, late_ns)

    def figures(self) -> dict[str, float]:
        """Return `late_mean_s` (early ends count as negative), `late_max_s` and `early_total`."""
        return {
            "late_mean_s": self._late_ns / max(1, self._count) / 1e9,
            "late_max_s": self._late_max_ns / 1e9,
            "early_total": self._early,
        }


# ------------------------------------------------------------------------------------------- pauses


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


# --------------------------------------------------------------------------------------- timekeeper
# A periodic timer that notes how late it runs: what a busy loop does to other work on it.


class Timekeeper:
    """Fires every `period_s` on the running loop, from its creation until `stop`.

    Lateness counts from the due time, however late the previous firing was (no coordinated
    omission), by `time.monotonic`: a loop's own clock may stand still while it is busy. A timer
    that fires early (uvloop's have a resolution of 1 ms) counts as on time.
    """

    def __init__(self, period_s: float) -> None:
        self._period_s = period_s
        self._loop = asyncio.get_running_loop()
        self._due_s = time.monotonic()
        self._late_s: list[float] = []
        self._arm()

    def stop(self) -> dict[str, float]:
        """Stop; return `timer_late_mean_s` and `timer_late_max_s`.

        A firing that is due and has not happened counts with its lateness so far.
        """
        self._handle.cancel()
        waiting_s = time.monotonic() - self._due_s
        late_s = [*self._late_s, waiting_s] if waiting_s > 0 else self._late_s or [0.0]
        return {
            "timer_late_mean_s": sum(late_s) / len(late_s),
            "timer_late_max_s": max(late_s),
        }

    def _arm(self) -> None:
        self._due_s += self._period_s
        delay_s = self._due_s - time.monotonic()
        self._handle = self._loop.call_at(self._loop.time() + delay_s, self._fire)

    def _fire(self) -> None:
        self._late_s.append(max(0.0, time.monotonic() - self._due_s))
        self._arm()
