"""`gather` does the same work in each way of joining, and checks every result."""

from typing import get_args

import pytest

from tests.support.children import finish, measured
from tests.support.in_process import run_alone
from workers.workloads.gather import Gather
from workers.workloads.parts.joins import JOINS, Join, Many

pytestmark = pytest.mark.one_build

WAYS = pytest.mark.parametrize("join", get_args(Join))


@pytest.mark.slow
@WAYS
def test_two_workers_do_whole_fan_outs(join: str) -> None:
    parameters = {"tasks": 95, "fan_out": 10, "join": join}
    record = measured({"workload": "gather", "parameters": parameters, "workers": 2})
    for worker in record.workers:
        assert worker.ticks.operations == [0, 10]
        assert worker.errors == 0
        assert worker.pending_tasks == 0
        assert worker.started_ns is not None
        assert worker.finished_ns is not None
        took_ns = worker.finished_ns - worker.started_ns
        assert 0 < worker.figures["ns_per_task"] * 100 <= took_ns


@WAYS
@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
@pytest.mark.parametrize(("tasks", "fan_out", "fan_outs"), [(1, 1, 1), (5, 1000, 1), (300, 100, 3)])
@pytest.mark.parametrize("pause_ms", [0.0, 1.0])
def test_every_task_runs_once(
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


@WAYS
@pytest.mark.parametrize("spoil", [lambda found: found[::-1], lambda found: found[:-1]])
def test_wrong_results_are_errors(
    monkeypatch: pytest.MonkeyPatch, join: Join, spoil: type[list[int]]
) -> None:
    whole = JOINS[join]

    async def spoilt(coroutines: Many) -> list[int]:
        return spoil(await whole(coroutines))

    monkeypatch.setitem(JOINS, join, spoilt)
    worker = run_alone(Gather(30, 10, join=join))
    assert (worker.operations, worker.errors) == (0, 3)
    assert worker.error_samples[0] == "wrong results, or in the wrong order"


@pytest.mark.slow
def test_other_libraries_are_refused() -> None:
    failure = finish({"workload": "gather", "loop": "trio"}).record.failure
    assert failure is not None
    assert "runs only on asyncio's loops" in failure.error
