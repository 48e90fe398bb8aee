"""`sleep` makes exactly the planned number of operations fail, and detects any other count."""

import asyncio
from collections.abc import Callable, Iterable
from itertools import chain, islice
from typing import get_args

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from tests.support.children import measured
from tests.support.in_process import ALL_LOOPS, run_alone
from workers.loops.libraries import Begin
from workers.loops.libraries.on_asyncio import Asyncio
from workers.workloads.sleep import Operation, Sleep, Tasks

pytestmark = pytest.mark.one_build


@pytest.mark.slow
@pytest.mark.parametrize("tasks", get_args(Tasks))
@pytest.mark.parametrize("loop", ALL_LOOPS)
def test_one_in_a_thousand_fails_in_each_of_two_workers(loop: str, tasks: str) -> None:
    parameters = {"sleeps": 3_500, "sleeps_in_flight": 700, "tasks": tasks}
    record = measured({"workload": "sleep", "parameters": parameters, "loop": loop, "workers": 2})
    for worker in record.workers:
        assert worker.ticks.operations == [0, 3_500]  # a planned failure is an operation finished
        assert worker.figures["planned_failures_total"] == 3
        assert worker.errors == 0
        assert worker.pending_tasks == 0


@pytest.mark.parametrize(
    ("sleeps", "in_flight", "fail_every", "planned"),
    [(1, 1, 1, 1), (99, 10, 100, 0), (100, 7, 3, 33), (10, 50, 2, 5), (10, 3, 0, 0)],
)
@pytest.mark.parametrize("tasks", get_args(Tasks))
def test_shares_that_are_uneven_fail_as_many(
    sleeps: int, in_flight: int, fail_every: int, planned: int, tasks: Tasks
) -> None:
    workload = Sleep(sleeps, in_flight, pause_ms=0, fail_every=fail_every, tasks=tasks)
    worker = run_alone(workload)
    assert worker.operations == sleeps
    assert worker.figures["planned_failures_total"] == planned
    assert worker.errors == 0


@given(sleeps=st.integers(1, 200), in_flight=st.integers(1, 300))
def test_each_operation_is_dealt_out_once_and_evenly(sleeps: int, in_flight: int) -> None:
    shares = [*Sleep(sleeps, sleeps_in_flight=in_flight)._shares()]
    assert [*chain(*shares)] == [*range(sleeps)]
    assert len(shares) == min(sleeps, in_flight)
    sizes = {len(share) for share in shares}
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("loop", ALL_LOOPS)
@pytest.mark.parametrize(("sleeps", "in_flight"), [(1, 1), (5, 9), (60, 7), (60, 1)])
@pytest.mark.parametrize("tasks", get_args(Tasks))
def test_no_more_are_in_flight_than_planned_and_each_can_have_its_own_task(
    monkeypatch: pytest.MonkeyPatch,
    loop: str,
    sleeps: int,
    in_flight: int,
    tasks: Tasks,
) -> None:
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
    run_alone(Sleep(sleeps, in_flight, pause_ms=0.1, fail_every=3, tasks=tasks), loop)
    assert sorted(done) == [*range(sleeps)]
    assert most == min(sleeps, in_flight)
    assert len(seen) == (sleeps if tasks == "each" else most)


def test_any_other_count_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Asyncio.join

    async def all_but_first(self: Asyncio, begins: Iterable[Begin]) -> None:
        await whole(self, islice(begins, 1, None))

    monkeypatch.setattr(Asyncio, "join", all_but_first)
    worker = run_alone(Sleep(20, sleeps_in_flight=10, pause_ms=0, fail_every=2))
    assert worker.operations == 18
    assert worker.error_samples == ["9 operations finished and 9 failed, instead of 10 and 10"]


def test_a_failure_that_was_not_planned_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(count: int) -> int:
        raise LookupError("no such turn")

    monkeypatch.setattr("workers.workloads.sleep.turns", broken)
    for tasks in get_args(Tasks):
        with pytest.RaisesGroup(LookupError):
            run_alone(Sleep(2, sleeps_in_flight=1, pause_ms=0, work_us=1, tasks=tasks))
