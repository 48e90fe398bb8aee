"""A timer's lateness counts from its due time, however long the loop was blocked."""

import asyncio
from collections.abc import Callable

import pytest

from workers.workloads.parts import timers
from workers.workloads.parts.timers import Timekeeper

PERIOD_S = 0.010


class Clock:
    """A clock and a loop with one timer on it, both moved by hand; the loop's own clock is off."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.due_s = 0.0
        self.callback: Callable[[], object] | None = None

    def monotonic(self) -> float:
        return self.now_s

    def time(self) -> float:
        return self.now_s - 42.0

    def call_at(self, at_s: float, callback: Callable[[], object]) -> "Clock":
        self.due_s, self.callback = at_s + 42.0, callback
        return self

    def cancel(self) -> None:
        self.callback = None

    def fire(self, late_s: float) -> None:
        """Go to when the timer is due and beyond; run it."""
        assert self.callback is not None
        self.now_s = max(self.now_s, self.due_s + late_s)
        self.callback()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(timers, "time", clock)
    monkeypatch.setattr(asyncio, "get_running_loop", lambda: clock)
    return clock


def test_mean_and_worst_are_reported(clock: Clock) -> None:
    kept = Timekeeper(PERIOD_S)
    for late_s in (0.001, 0.003, 0.002):
        clock.fire(late_s)
    figures = kept.stop()
    assert figures["timer_late_mean_s"] == pytest.approx(0.002)
    assert figures["timer_late_max_s"] == pytest.approx(0.003)
    assert clock.callback is None


def test_what_was_due_in_a_stall_is_late_as_well(clock: Clock) -> None:
    """A stall of 35 ms: four were due in it, 35, 25, 15 and 5 ms late."""
    kept = Timekeeper(PERIOD_S)
    clock.fire(0.035)
    for _ in range(3):
        clock.fire(0.0)
    figures = kept.stop()
    assert figures["timer_late_max_s"] == pytest.approx(0.035)
    assert figures["timer_late_mean_s"] == pytest.approx(0.020)


def test_the_schedule_does_not_drift(clock: Clock) -> None:
    Timekeeper(PERIOD_S)
    for _ in range(100):
        clock.fire(0.004)
    assert clock.due_s == pytest.approx(100.0 + 101 * PERIOD_S)


def test_early_is_on_time(clock: Clock) -> None:
    kept = Timekeeper(PERIOD_S)
    clock.fire(-0.001)
    assert kept.stop() == {"timer_late_mean_s": 0.0, "timer_late_max_s": 0.0}


def test_one_that_never_got_its_turn_counts(clock: Clock) -> None:
    kept = Timekeeper(PERIOD_S)
    clock.now_s += 0.510
    assert kept.stop()["timer_late_max_s"] == pytest.approx(0.5)
