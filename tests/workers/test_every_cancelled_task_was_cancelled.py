"""`cancel` counts the tasks that were cancelled while asleep, and notices any that was not."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import pytest

from tests.support.children import measured
from tests.support.in_process import ALL_LOOPS, run_alone
from workers.loops.libraries import Begin
from workers.loops.libraries.on_asyncio import Asyncio
from workers.loops.libraries.on_trio_and_anyio import CancelScopes
from workers.workloads.cancel import Cancel

pytestmark = pytest.mark.one_build

type Cancelling = Callable[[Any, Iterable[Begin], Begin], Awaitable[int]]


@pytest.mark.slow
@pytest.mark.parametrize("loop", ALL_LOOPS)
def test_each_of_two_workers_cancels_them_all(loop: str) -> None:
    parameters = {"tasks": 250, "batch": 100}
    record = measured({"workload": "cancel", "parameters": parameters, "loop": loop, "workers": 2})
    for worker in record.workers:
        assert worker.ticks.operations == [0, 250]
        assert worker.errors == 0
        assert worker.pending_tasks == 0
        assert 0 < worker.figures["settle_s"] <= worker.figures["settle_max_s"]


@pytest.mark.parametrize(
    ("tasks", "batch", "batches"), [(250, 100, [100, 100, 50]), (200, 100, [100, 100]), (3, 9, [3])]
)
def test_the_last_batch_is_what_is_left(
    monkeypatch: pytest.MonkeyPatch, tasks: int, batch: int, batches: list[int]
) -> None:
    sizes = []
    whole = Cancel._cancel

    async def noted(self: Cancel, worker: object, size: int) -> int:
        sizes.append(size)
        return await whole(self, worker, size)  # type: ignore[arg-type]

    monkeypatch.setattr(Cancel, "_cancel", noted)
    assert run_alone(Cancel(tasks, batch)).operations == tasks
    assert sizes == batches


@pytest.mark.slow
@pytest.mark.parametrize("loop", ALL_LOOPS)
def test_storm_sleeps_first_and_records_when_the_last_has_settled(loop: str) -> None:
    parameters = {"tasks": 500, "batch": 500, "after_ms": 50}
    (worker,) = measured({"workload": "cancel", "parameters": parameters, "loop": loop}).workers
    assert worker.ticks.operations == [0, 500]
    assert worker.errors == 0
    assert worker.started_ns is not None
    assert worker.finished_ns is not None
    settle_ns = worker.figures["settle_s"] * 1e9
    assert worker.figures["settle_max_s"] == worker.figures["settle_s"]
    # uvloop's timer may end up to 1 ms early.
    assert 0 < settle_ns <= worker.finished_ns - worker.started_ns - 49e6


def when_all_have_ended(whole: Cancelling) -> Cancelling:
    """Cancel when no task is left, however long a machine takes to run them."""

    async def cancel(self: Asyncio | CancelScopes, begins: Iterable[Begin], ready: Begin) -> int:
        ended: list[Begin] = []
        every = [*begins]

        def noting(begin: Begin) -> Begin:
            async def to_its_end() -> None:
                await begin()
                ended.append(begin)

            return to_its_end

        async def all_ended() -> None:
            await ready()
            while len(ended) < len(every):
                await self.sleep(0)

        return await whole(self, map(noting, every), all_ended)

    return cancel


@pytest.mark.parametrize("loop", ALL_LOOPS)
def test_a_task_that_ended_by_itself_is_an_error(
    monkeypatch: pytest.MonkeyPatch, loop: str
) -> None:
    for library in (Asyncio, CancelScopes):
        monkeypatch.setattr(library, "cancel", when_all_have_ended(library.cancel))
    worker = run_alone(Cancel(tasks=30, batch=10, pause_s=0), loop)
    assert worker.operations == 0
    assert worker.errors == 3
    assert worker.error_samples[0] == "0 of 10 tasks were cancelled while asleep"
