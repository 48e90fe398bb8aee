"""`spawn`, `gather`, `cancel` and `sleep` count each task once, on every loop, and notice any that
did not run, was not cancelled, or failed without a plan.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from itertools import islice, product
from typing import Any, get_args

import pytest

from tests.support.children import measured
from tests.support.in_process import ALL_LOOPS, run_alone
from workers.describe import load_choices, refusals
from workers.loops import load_loop
from workers.loops.libraries import Begin, CancelScopes
from workers.loops.on_asyncio import Asyncio
from workers.worker.workload import reason_against
from workers.workloads.cancel import Cancel
from workers.workloads.gather import JOINS, Gather, Join, Many
from workers.workloads.spawn import Spawn, eagerly

pytestmark = pytest.mark.one_build

EVERY_LOOP = pytest.mark.parametrize("loop", ALL_LOOPS)
TASKS = 137


# Each workload in two workers, each loop with one of them at least; on all loops, further down.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("workload", "loop", "parameters", "operations"),
    [
        ("gather", "uvloop", {"tasks": 95, "fan_out": 10}, 10),
        ("cancel", "anyio/trio", {"tasks": 250, "batch": 100}, 250),
        ("spawn", "asyncio", {}, TASKS),  # so many are in flight
    ],
)
def test_each_of_two_workers_does_it_all(
    workload: str, loop: str, parameters: dict[str, Any], operations: int
) -> None:
    cell = {"workload": workload, "parameters": parameters, "loop": loop, "workers": 2}
    if not parameters:
        cell["in_flight"] = 2 * TASKS
    for worker in measured(cell).workers:
        assert worker.ticks.operations == [0, operations]
        assert (worker.errors, worker.pending_tasks) == (0, 0)
        assert worker.started_ns
        assert worker.finished_ns
        took_s, figures = (worker.finished_ns - worker.started_ns) / 1e9, worker.figures
        if workload == "gather":
            assert 0 < figures["ns_per_task"] * 100 <= took_s * 1e9
        if workload == "cancel":
            assert 0 < figures["settle_s"] <= figures["settle_max_s"] < took_s


# ------------------------------------------------------------------------------ spawn


@pytest.mark.parametrize(
    ("loop", "factory", "join"),
    [
        *product(["asyncio", "uvloop"], ["lazy", "eager"], ["TaskGroup", "wait", "gather"]),
        *((loop, "lazy", "TaskGroup") for loop in ALL_LOOPS[2:]),
    ],
)
def test_spawned_tasks_run_however_they_begin_and_are_joined(
    loop: str, factory: Any, join: Any
) -> None:
    for pause_ms in (0.0, 0.5):
        spawn = Spawn(tasks=TASKS, factory=factory, join=join, pause_ms=pause_ms)
        worker = run_alone(spawn, loop)
        assert (worker.operations, worker.errors) == (TASKS, 0)


def test_a_spawned_task_that_does_not_run_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Asyncio.join

    async def all_but_one(self: Asyncio, begins: Iterable[Begin]) -> None:
        await whole(self, islice(begins, TASKS - 1))

    monkeypatch.setattr(Asyncio, "join", all_but_one)
    worker = run_alone(Spawn(tasks=TASKS))
    assert worker.operations == TASKS - 1
    assert worker.error_samples == [f"{TASKS - 1} of {TASKS} tasks ran to their end"]


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_eager_tasks_begin_at_once_and_only_in_the_block(loop: str) -> None:
    """uvloop would not, with asyncio's own factory."""
    ran = []

    async def task(name: str) -> None:
        ran.append(name)

    async def main() -> None:
        with eagerly():
            first = asyncio.create_task(task("eager"))
            assert ran == ["eager"]
        second = asyncio.create_task(task("lazy"))
        assert ran == ["eager"]
        await asyncio.wait([first, second])

    asyncio.run(main(), loop_factory=load_loop(loop))
    assert ran == ["eager", "lazy"]


def test_what_only_asyncio_has_is_refused() -> None:
    planned = refusals(
        "workers.workloads.spawn:Spawn", Spawn, ["trio", "anyio/asyncio"], load_choices(Spawn), None
    )
    for (loop, name), parameters in product(
        [("trio", "trio"), ("anyio/asyncio", "anyio")], [{"factory": "eager"}, {"join": "wait"}]
    ):
        reason = f"{name} has only lazy tasks that are joined in groups"
        place = {"model": "threads", "loop": loop, "reason": reason, "parameters": parameters}
        assert place in planned
    assert "runs only on asyncio's loops" in str(reason_against(Gather(), "threads", "trio"))


# ------------------------------------------------------------------------------ gather


@pytest.mark.parametrize("join", get_args(Join))
@pytest.mark.parametrize(
    ("loop", "tasks", "fan_out", "fan_outs", "pause_ms"),
    [("uvloop", 300, 100, 3, 0.0), ("asyncio", 5, 1000, 1, 1.0)],
)
def test_every_task_of_a_fan_out_runs_once(
    monkeypatch: pytest.MonkeyPatch,
    join: Join,
    loop: str,
    tasks: int,
    fan_out: int,
    fan_outs: int,
    pause_ms: float,
) -> None:
    ran = []
    for name in ("_answer", "_pause"):
        whole = getattr(Gather, name)

        async def noted(self: Gather, number: int, whole: object = whole) -> object:
            ran.append(number)
            return await whole(self, number)  # type: ignore[operator]

        monkeypatch.setattr(Gather, name, noted)
    worker = run_alone(Gather(tasks, fan_out, join=join, pause_ms=pause_ms), loop)
    assert (worker.operations, worker.errors) == (fan_outs, 0)
    assert sorted(ran) == sorted([*range(fan_out)] * fan_outs)


@pytest.mark.parametrize("join", get_args(Join))
@pytest.mark.parametrize("spoil", [lambda found: found[::-1], lambda found: found[:-1]])
def test_wrong_results_of_a_fan_out_are_errors(
    monkeypatch: pytest.MonkeyPatch, join: Join, spoil: type[list[int]]
) -> None:
    whole = JOINS[join]

    async def spoilt(coroutines: Many) -> list[int]:
        return spoil(await whole(coroutines))

    monkeypatch.setitem(JOINS, join, spoilt)
    worker = run_alone(Gather(30, 10, join=join))
    assert (worker.operations, worker.errors) == (0, 3)
    assert worker.error_samples[0] == "wrong results, or in the wrong order"


# ------------------------------------------------------------------------------ cancel

type Cancelling = Callable[[Any, Iterable[Begin], Begin], Awaitable[int]]


@EVERY_LOOP
def test_a_storm_sleeps_first_and_settles_when_the_last_one_has(loop: str) -> None:
    began = time.monotonic()
    worker = run_alone(Cancel(tasks=500, batch=500, after_ms=50), loop)
    took_s = time.monotonic() - began
    assert (worker.operations, worker.errors) == (500, 0)
    settle_s = worker.figures["settle_s"]
    assert worker.figures["settle_max_s"] == settle_s
    assert 0 < settle_s <= took_s - 0.049  # uvloop's timer may end up to 1 ms early


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


@EVERY_LOOP
def test_a_task_that_ended_by_itself_is_an_error(
    monkeypatch: pytest.MonkeyPatch, loop: str
) -> None:
    for each in (Asyncio, CancelScopes):
        monkeypatch.setattr(each, "cancel", when_all_have_ended(each.cancel))
    worker = run_alone(Cancel(tasks=30, batch=10, pause_s=0), loop)
    assert (worker.operations, worker.errors) == (0, 3)
    assert worker.error_samples[0] == "0 of 10 tasks were cancelled while asleep"
