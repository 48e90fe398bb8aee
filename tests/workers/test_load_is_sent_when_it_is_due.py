"""The generator wakes up a little before a request is due and sends it then, never before."""

from collections.abc import Callable
from itertools import count
from typing import cast

import pytest

from workers.services.load.lane import Lane
from workers.services.load.sending import WAITING_MOST, WAKE_UP_NS, OpenLoop, early_ns
from workers.services.load.tally import Tally, Window

GAP_NS = 4_000_000
READING_NS = 1_000  # what a look at the clock takes


class Clock:
    """Virtual time, in which looking at the clock takes time, and waking up does."""

    kind = "virtual"

    def __init__(self, wakes_up_ns: int) -> None:
        self.now_ns = 0
        self.set_ns: list[int] = []
        self._wakes_up_ns = wakes_up_ns

    def read(self) -> int:
        self.now_ns += READING_NS
        return self.now_ns

    def make(self, call: Callable[[], None]) -> "Clock":
        del call
        return self

    def set(self, at_ns: int) -> None:
        self.set_ns.append(at_ns)
        self.now_ns = max(self.now_ns, at_ns + self._wakes_up_ns)

    def close(self) -> None:
        """Nothing to close."""


class SentAt:
    """A lane that answers at once and keeps when it sent."""

    def __init__(self, clock: Clock) -> None:
        self.late_ns: list[int] = []
        self._clock = clock

    def send(self, position: int, due_ns: int, window: Window) -> None:
        del position, window
        self.sent_ns = self._clock.now_ns
        self.late_ns.append(self.sent_ns - due_ns)


def lateness(early_ns: int, wakes_up_ns: int) -> list[int]:
    """How late each of ten requests is sent, ns; negative: before it is due."""
    clock = Clock(wakes_up_ns)
    due_ns = (GAP_NS * number for number in count(1))
    tally = Tally([0, GAP_NS * 11])
    loop = OpenLoop(due_ns, lambda: 0, tally, clock.read, clock.make, early_ns)
    lane = SentAt(clock)
    loop.begin([cast(Lane, lane)])
    while len(lane.late_ns) < 10:
        loop.take_due()
        loop.freed(cast(Lane, lane))
    return lane.late_ns


@pytest.mark.parametrize("wakes_up_ns", [0, 30_000, WAKE_UP_NS - READING_NS])
def test_a_wake_up_in_time_costs_nothing(wakes_up_ns: int) -> None:
    late_ns = lateness(WAKE_UP_NS, wakes_up_ns)
    assert min(late_ns) >= 0
    assert max(late_ns) <= 2 * READING_NS


def test_one_that_takes_longer_is_slip() -> None:
    assert min(lateness(WAKE_UP_NS, WAKE_UP_NS + 50_000)) >= 50_000


def test_without_waiting_every_wake_up_is_slip() -> None:
    assert min(lateness(0, 30_000)) >= 30_000


@pytest.mark.parametrize("rate_per_s", [0.01, 20.0, 250.0, 1_000.0, 50_000.0, 1_000_000.0])
def test_waiting_takes_little_of_the_time(rate_per_s: float) -> None:
    waits_ns = early_ns(rate_per_s)
    assert 0 <= waits_ns <= WAKE_UP_NS
    assert waits_ns * rate_per_s <= WAITING_MOST * 1e9
