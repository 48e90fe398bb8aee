"""`spawn` counts the tasks that ran, on every loop and in every way to start and join them."""

import asyncio
import gc
from collections.abc import Iterable
from itertools import islice, product

import pytest

from tests.support.children import finish, measured
from tests.support.in_process import ALL_LOOPS, run_alone
from workers.loops.libraries import Begin, library
from workers.loops.libraries.on_asyncio import Asyncio
from workers.loops.registry import load_loop
from workers.readback.refusals import load_choices, refusals
from workers.workloads.parts.joins import eagerly
from workers.workloads.spawn import Spawn

pytestmark = pytest.mark.one_build

JOINS = ["TaskGroup", "wait", "gather"]
TASKS = 137


@pytest.mark.slow
@pytest.mark.parametrize("loop", ALL_LOOPS)
def test_each_of_two_workers_runs_them_all(loop: str) -> None:
    parameters = {"tasks": TASKS}
    record = measured({"workload": "spawn", "parameters": parameters, "loop": loop, "workers": 2})
    assert [worker.ticks.operations for worker in record.workers] == [[0, TASKS]] * 2
    assert [worker.errors for worker in record.workers] == [0, 0]
    assert [worker.pending_tasks for worker in record.workers] == [0, 0]


@pytest.mark.slow
def test_work_in_flight_is_the_number_of_tasks() -> None:
    record = measured({"workload": "spawn", "workers": 2, "in_flight": 2 * TASKS + 1})
    assert [worker.ticks.operations[-1] for worker in record.workers] == [TASKS + 1, TASKS]


@pytest.mark.parametrize("pause_ms", [0.0, 0.5])
@pytest.mark.parametrize(
    ("loop", "factory", "join"), [*product(["asyncio", "uvloop"], ["lazy", "eager"], JOINS)]
)
def test_they_run_however_they_begin_and_are_joined(
    loop: str, factory: str, join: str, pause_ms: float
) -> None:
    spawn = Spawn(tasks=TASKS, factory=factory, join=join, pause_ms=pause_ms)  # type: ignore[arg-type]
    worker = run_alone(spawn, loop)
    assert (worker.operations, worker.errors) == (TASKS, 0)


@pytest.mark.parametrize("loop", ALL_LOOPS)
def test_tasks_that_sleep_run_on_all_loops(loop: str) -> None:
    worker = run_alone(Spawn(tasks=TASKS, pause_ms=0.5), loop)
    assert (worker.operations, worker.errors) == (TASKS, 0)


def test_a_task_that_does_not_run_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
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

    with asyncio.Runner(loop_factory=load_loop(loop)) as runner:
        runner.run(main())
    assert ran == ["eager", "lazy"]


@pytest.mark.slow
@pytest.mark.parametrize("parameters", [{"factory": "eager"}, {"join": "wait"}])
@pytest.mark.parametrize(("loop", "name"), [("trio", "trio"), ("anyio/asyncio", "anyio")])
def test_what_only_asyncio_has_is_refused(loop: str, name: str, parameters: dict[str, str]) -> None:
    reason = f"{name} has only lazy tasks that are joined in groups"
    done = finish({"workload": "spawn", "loop": loop, "parameters": parameters})
    assert done.record.failure is not None
    assert done.record.failure.error == f"RefusedError: {reason}"
    planned = refusals("workers.workloads.spawn:Spawn", Spawn, [loop], load_choices(Spawn), None)
    place = {"model": "threads", "loop": loop, "reason": reason, "parameters": parameters}
    assert place in planned


@pytest.mark.slow
def test_a_task_group_holds_no_task_that_is_done() -> None:
    """Else the memory of a group would be that of a list."""
    alive: list[int] = []

    async def task() -> None:
        await asyncio.sleep(0)

    async def count() -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        gc.collect()
        alive.append(sum(isinstance(each, asyncio.Task) for each in gc.get_objects()))

    async def main() -> None:
        await library("asyncio").join([*[task] * TASKS, count])

    asyncio.run(main())
    assert alive[0] < TASKS
