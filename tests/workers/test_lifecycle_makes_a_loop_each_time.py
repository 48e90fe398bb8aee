"""`lifecycle` creates and closes a loop per run, or one for all, and checks that it did."""

import asyncio
from collections.abc import Coroutine
from typing import Any, Literal

import pytest

from tests.support.children import finish, measured
from workers import Worker
from workers.workloads.lifecycle import Lifecycle

type Way = Literal["run", "runner"]


class Factory:
    """Makes loops and keeps them."""

    def __init__(self) -> None:
        self.made: list[asyncio.AbstractEventLoop] = []

    def __call__(self) -> asyncio.AbstractEventLoop:
        self.made.append(asyncio.new_event_loop())
        return self.made[-1]


def worked(monkeypatch: pytest.MonkeyPatch, way: Way, factory: Factory, runs: int = 4) -> Worker:
    monkeypatch.setattr(Worker, "loop_factory", factory)
    worker = Worker(0, 1, {})
    Lifecycle(way=way, runs=runs, pause_s=0).work(worker)
    return worker


@pytest.mark.parametrize(("way", "loops"), [("run", 4), ("runner", 1)])
def test_loops_are_made_by_the_cells_factory_and_closed(
    way: Way, loops: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    factory = Factory()
    worker = worked(monkeypatch, way, factory)
    assert worker.operations == 4
    assert worker.errors == 0
    assert len(factory.made) == loops
    assert all(loop.is_closed() for loop in factory.made)


def test_a_loop_that_is_used_again_is_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.new_event_loop()

    def run(main: Coroutine[Any, Any, Any], *, loop_factory: object) -> Any:
        return loop.run_until_complete(main)

    monkeypatch.setattr(asyncio, "run", run)
    worker = worked(monkeypatch, "run", Factory())
    loop.close()
    assert worker.operations == 0
    assert worker.errors == 4
    assert worker.error_samples[0] == "asyncio.run did not create a new loop and close it"


def test_a_runner_that_changes_its_loop_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    own = asyncio.Runner.get_loop

    def another(runner: asyncio.Runner) -> asyncio.AbstractEventLoop:
        own(runner)
        return other

    other = asyncio.new_event_loop()
    monkeypatch.setattr(asyncio.Runner, "get_loop", another)
    worker = worked(monkeypatch, "runner", Factory())
    other.close()
    assert worker.operations == 0
    assert worker.error_samples[0] == "asyncio.Runner changed its loop"


@pytest.mark.slow
@pytest.mark.parametrize("way", ["run", "runner"])
@pytest.mark.parametrize("model", ["threads", "processes", "interpreters"])
def test_every_worker_does_all_its_runs(model: str, way: str) -> None:
    parameters = {"runs": 20, "pause_s": 0.0, "way": way}
    cell = {"workload": "lifecycle", "model": model, "workers": 2, "parameters": parameters}
    record = measured(cell)
    assert record.finite
    for worker in record.workers:
        assert worker.ticks.operations == [0, 20]
        assert worker.errors == 0
        assert not worker.hung


@pytest.mark.slow
@pytest.mark.parametrize("way", ["run", "runner"])
def test_the_loop_is_the_cells(way: str) -> None:
    parameters = {"runs": 5, "pause_s": 0.0, "way": way}
    record = measured({"workload": "lifecycle", "loop": "uvloop", "parameters": parameters})
    assert record.loop is not None
    assert record.loop.class_ == "uvloop.Loop"
    assert record.workers[0].ticks.operations == [0, 5]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loop", "reason"),
    [
        ("rloop", "rloop mixes up its descriptors when several threads open and close loops"),
        ("trio", "runs only on asyncio's loops"),
    ],
)
def test_what_makes_no_loop_of_its_own_is_refused(loop: str, reason: str) -> None:
    done = finish({"workload": "lifecycle", "loop": loop})
    assert done.code == 1
    assert done.record.failure is not None
    assert done.record.failure.error == f"RefusedError: {reason}"
