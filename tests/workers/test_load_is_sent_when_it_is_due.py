"""Requests are due by one schedule, however many processes send them, and are sent then."""

import asyncio
import os
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count, islice, pairwise, takewhile
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.children import PATIENCE_S
from workers.services.load.lane import Lane
from workers.services.load.options import parser, read_options
from workers.services.load.part import ARRIVALS, Overload, arrivals, dealt, overloaded
from workers.services.load.sending import (
    WAITING_MOST,
    WAKE_UP_NS,
    LoopTimer,
    OpenLoop,
    Timer,
    ask_for_slice,
    early_ns,
    new_timer,
)
from workers.services.load.tally import Tally, Window
from workers.services.serving import new_event_loop

pytestmark = pytest.mark.one_build

SEEDS = st.integers(0, 2**32)


@given(st.sampled_from(ARRIVALS), SEEDS, st.integers(1, 5))
def test_parts_together_are_the_whole_schedule(kind: str, seed: int, processes: int) -> None:
    whole = list(islice(arrivals(kind, 1_000, seed), 300))
    parts = []
    for place in range(processes):
        for due in dealt(arrivals(kind, 1_000, seed), kind, seed, place, processes):
            if due > whole[-1]:
                break
            parts.append(due)
    assert sorted(parts) == whole


def test_gaps_are_constant_without_drift_or_exponential_in_each_part() -> None:
    """Mean and standard deviation of exponential gaps are equal; 3σ bounds on 40,000 gaps."""
    due = list(islice(arrivals("constant", 3, 1), 300_001))
    assert due[:4] == [0, 333_333_333, 666_666_666, 1_000_000_000]
    assert due[-1] == 100_000 * 10**9
    for processes in (1, 4):
        part = dealt(arrivals("poisson", 1_000, 7), "poisson", 7, 0, processes)
        gaps = [late - early for early, late in pairwise(islice(part, 40_001))]
        mean_ns = processes * 1e6
        assert statistics.fmean(gaps) == pytest.approx(mean_ns, rel=3 / 200)
        assert statistics.pstdev(gaps) == pytest.approx(mean_ns, rel=6 / 200)


SECOND_NS = 10**9
OPENS_NS = 3 * SECOND_NS  # after a warm-up
OVERLOAD = Overload(factor=4.0, after_s=2.0, lasts_s=5.0)
BEGIN_NS, END_NS = OPENS_NS + 2 * SECOND_NS, OPENS_NS + 7 * SECOND_NS


def due(kind: str, rate: float, place: int = 0, of: int = 1) -> list[int]:
    """Offsets of 20 s, of one process's part."""
    offsets = dealt(arrivals(kind, rate, 7), kind, 7, place, of)
    return list(takewhile(lambda at: at < 20 * SECOND_NS, overloaded(offsets, OVERLOAD, OPENS_NS)))


def within(offsets: list[int], begin_ns: int, end_ns: int) -> int:
    return sum(begin_ns <= at < end_ns for at in offsets)


def test_the_rate_is_multiplied_there_and_nowhere_else() -> None:
    """Counts of Poisson arrivals are within four standard deviations; parts are the whole."""
    asked = ["tcp://127.0.0.1:9", "--rate=10", "--overload", "4", "2", "5"]
    assert read_options(parser(), asked).overload == OVERLOAD
    found = due("constant", 100)
    assert within(found, 0, BEGIN_NS) == 500
    assert within(found, BEGIN_NS, END_NS) == 4 * 500
    assert within(found, END_NS, 20 * SECOND_NS) == 1_000
    found = due("poisson", 500)
    for begin, end, expected in ((0, BEGIN_NS, 2_500), (BEGIN_NS, END_NS, 10_000)):
        assert within(found, begin, end) == pytest.approx(expected, abs=4 * expected**0.5)
    for kind in ARRIVALS:
        parts = [at for place in range(3) for at in due(kind, 200, place, 3)]
        assert sorted(parts) == due(kind, 200)


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


@pytest.mark.parametrize("wakes_up_ns", [0, WAKE_UP_NS - READING_NS])
def test_a_wake_up_in_time_costs_nothing(wakes_up_ns: int) -> None:
    """And the waiting for it little of the time."""
    late_ns = lateness(WAKE_UP_NS, wakes_up_ns)
    assert min(late_ns) >= 0
    assert max(late_ns) <= 2 * READING_NS
    for rate_per_s in (0.01, 20.0, 250.0, 1_000.0, 50_000.0, 1_000_000.0):
        waits_ns = early_ns(rate_per_s)
        assert 0 <= waits_ns <= WAKE_UP_NS
        assert waits_ns * rate_per_s <= WAITING_MOST * 1e9


def test_a_wake_up_that_takes_longer_or_is_not_waited_for_is_slip() -> None:
    assert min(lateness(WAKE_UP_NS, WAKE_UP_NS + 50_000)) >= 50_000
    assert min(lateness(0, 30_000)) >= 30_000


def loop_timer(call: Callable[[], object]) -> Timer:
    return LoopTimer(asyncio.get_running_loop(), call)


@pytest.mark.parametrize(
    ("factory", "make"),
    [
        (new_event_loop, new_timer),
        (new_event_loop, loop_timer),
        (asyncio.new_event_loop, new_timer),
    ],
)
def test_a_timer_calls_at_each_time_it_is_set_to_and_never_once_it_is_closed(
    factory: Callable[[], asyncio.AbstractEventLoop], make: Callable[..., Timer]
) -> None:
    async def main() -> None:
        called_ns: list[int] = []
        due_ns: list[int] = []
        done = asyncio.Event()

        def call() -> None:
            called_ns.append(time.monotonic_ns())
            if len(called_ns) == 6:
                done.set()
                timer.close()
                return
            after_ns = -(10**9) if len(called_ns) == 3 else 7_000_000  # one is in the past
            due_ns.append(time.monotonic_ns() + after_ns)
            timer.set(due_ns[-1])

        closed = make(lambda: called_ns.append(0))
        closed.set(time.monotonic_ns() + 5_000_000)
        closed.close()
        timer = make(call)
        if make is new_timer:
            assert timer.kind == ("timerfd" if hasattr(os, "timerfd_create") else "loop")
        due_ns.append(time.monotonic_ns() + 5_000_000)
        timer.set(due_ns[-1])
        async with asyncio.timeout(PATIENCE_S):
            await done.wait()
        await asyncio.sleep(0.02)
        timer.close()
        assert len(called_ns) == 6
        # uvloop's own timers may fire early by a millisecond.
        early = 2_000_000 if timer.kind == "loop" else 0
        for due, called in zip(due_ns, called_ns, strict=True):
            assert called >= due - early

    asyncio.run(main(), loop_factory=factory)


def test_the_slice_is_what_the_kernel_has_and_not_what_was_asked() -> None:
    """Linux grants no slice below 0.1 ms, before 6.12 none at all; a slice is of a thread."""
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(ask_for_slice, 1).result() != 1
