"""`sleep` makes as many operations fail as planned, on every loop, and measures its overshoot."""

import asyncio
import statistics
from collections.abc import Callable, Iterable
from itertools import chain, islice
from typing import Any, get_args

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from tests.support.in_process import ALL_LOOPS, run_alone
from workers.loops.libraries import Begin
from workers.loops.on_asyncio import Asyncio
from workers.workloads.parts.work import TURNS_PER_US
from workers.workloads.sleep import Lateness, Operation, Pauses, Sleep, Tasks, exponential_s

pytestmark = pytest.mark.one_build

EVERY_LOOP = pytest.mark.parametrize("loop", ALL_LOOPS)
EACH_WAY = pytest.mark.parametrize("tasks", get_args(Tasks))


@EACH_WAY
@pytest.mark.parametrize(
    ("sleeps", "in_flight", "fail_every", "planned"),
    [(1, 1, 1, 1), (100, 7, 3, 33), (10, 50, 2, 5), (10, 3, 0, 0)],
)
def test_shares_that_are_uneven_fail_as_many(
    monkeypatch: pytest.MonkeyPatch,
    sleeps: int,
    in_flight: int,
    fail_every: int,
    planned: int,
    tasks: Tasks,
) -> None:
    worked: list[int] = []
    monkeypatch.setattr("workers.workloads.sleep.turns", worked.append)
    asked: Any = {"pause_ms": 0, "work_us": 10, "timed": True, "tasks": tasks}
    worker = run_alone(Sleep(sleeps, in_flight, fail_every=fail_every, **asked))
    assert (worker.operations, worker.errors) == (sleeps, 0)
    assert worker.figures["planned_failures_total"] == planned
    assert worked == [10 * TURNS_PER_US] * sleeps
    assert sum((worker.latencies() or {})["count"]) == sleeps  # of planned failures, too


@EACH_WAY
@EVERY_LOOP
def test_no_more_are_in_flight_than_planned_and_each_can_have_its_own_task(
    monkeypatch: pytest.MonkeyPatch, loop: str, tasks: Tasks
) -> None:
    """Timed ones have a latency each."""
    asleep = most = 0
    done: list[int] = []
    seen: set[object] = set()
    whole = Sleep._operation
    this_task: Callable[[], object] = (
        trio.lowlevel.current_task if loop.endswith("trio") else asyncio.current_task
    )

    def watched(self: Sleep) -> Operation:
        operation = whole(self)

        async def noted(number: int) -> None:
            nonlocal asleep, most
            seen.add(this_task())
            asleep += 1
            most = max(most, asleep)
            try:
                await operation(number)
            finally:
                asleep -= 1
                done.append(number)

        return noted

    monkeypatch.setattr(Sleep, "_operation", watched)
    asked: Any = {"pause_ms": 0.5, "pauses": "exponential", "fail_every": 3, "timed": True}
    sleep = Sleep(60, 7, tasks=tasks, **asked)
    worker = run_alone(sleep, loop)
    assert sorted(done) == [*range(60)]
    assert most == 7
    assert len(seen) == (60 if tasks == "each" else 7)
    assert worker.operations == sum((worker.latencies() or {})["count"]) == 60
    figures = worker.figures
    assert figures["late_max_s"] >= figures["late_mean_s"]
    assert 0 <= figures["early_total"] <= (0 if loop == "asyncio" else 60)


def test_any_other_count_of_failures_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was not planned ends the run."""
    whole = Asyncio.join

    async def all_but_first(self: Asyncio, begins: Iterable[Begin]) -> None:
        await whole(self, islice(begins, 1, None))

    def broken(count: int) -> int:
        raise LookupError("no such turn")

    with monkeypatch.context() as patch:
        patch.setattr(Asyncio, "join", all_but_first)
        worker = run_alone(Sleep(20, sleeps_in_flight=10, pause_ms=0, fail_every=2))
    assert worker.operations == 18
    assert worker.error_samples == ["9 operations finished and 9 failed, instead of 10 and 10"]
    monkeypatch.setattr("workers.workloads.sleep.turns", broken)
    for tasks in get_args(Tasks):
        with pytest.RaisesGroup(LookupError):
            run_alone(Sleep(2, sleeps_in_flight=1, pause_ms=0, work_us=1, tasks=tasks))


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=200), st.integers(1, 300))
def test_shares_are_even_and_the_longest_is_the_ideal(drawn_s: list[float], in_flight: int) -> None:
    """Or the next begins as soon as one ends: none is better than what all ask for."""
    pauses, count = Pauses(0.5, drawn_s), len(drawn_s)
    shares = [*Sleep(count, sleeps_in_flight=in_flight)._shares()]
    assert [*chain(*shares)] == [*range(count)]
    assert len(shares) == min(count, in_flight)
    sizes = {len(share) for share in shares}
    assert max(sizes) - min(sizes) <= 1
    least = max(*drawn_s, sum(drawn_s) / in_flight)
    longest = max(sum(drawn_s[number] for number in share) for share in shares)
    assert pauses.shared_s(shares) == pytest.approx(longest)
    assert least * (1 - 1e-9) <= pauses.relayed_s(count, in_flight) <= least + max(drawn_s)
    alike = Pauses(0.002, []), -(-count // in_flight) * 0.002
    assert alike[0].shared_s(shares) == pytest.approx(alike[1])
    assert alike[0].relayed_s(count, in_flight) == pytest.approx(alike[1])


def test_pauses_are_exponential_and_drawn_by_each_worker_for_itself() -> None:
    workload, another = (Sleep(40, 8, pauses="exponential", seed=seed) for seed in (1, 2))
    assert workload._draw(0) == workload._draw(0)
    assert workload._draw(0) not in (workload._draw(1), another._draw(0))
    assert Sleep(40, 8)._draw(0) == []
    pauses_ms = [1e3 * pause_s for pause_s in exponential_s(40_000, 0.005, "seed")]
    assert len(pauses_ms) == 40_000
    # Mean and standard deviation of an exponential are the same; 40,000 give them within 4 %.
    assert statistics.fmean(pauses_ms) == pytest.approx(5, rel=0.04)
    assert statistics.stdev(pauses_ms) == pytest.approx(5, rel=0.04)


def test_lateness_is_what_was_taken_less_what_was_asked_for() -> None:
    lateness = Lateness()
    for took_ns in (12_000, 16_000, 9_500, 6_000):
        lateness.add(10_000, took_ns)
    assert lateness.figures() == {
        "late_mean_s": pytest.approx(0.875e-6),
        "late_max_s": pytest.approx(6e-6),
        "early_total": 1,  # 500 ns may be the clock's
    }
