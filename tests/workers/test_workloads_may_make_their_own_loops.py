"""A workload that makes its own loops, as `lifecycle` does, is called where none runs."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from tests.support.children import Own, each_model
from workers import Worker, Workload
from workers.loops import UnknownLoopError
from workers.worker.workload import reason_against
from workers.workloads.lifecycle import Lifecycle

MAKES = """
    @dataclass
    class Theirs(Workload):
        finite = True
        makes_loops = True
        loops: int = parameter(5, "loops, one after the other", at_least=0)

        def work(self, worker: Worker) -> None:
            try:
                asyncio.get_running_loop()
            except RuntimeError:
                pass
            else:
                worker.fail("a loop runs")
            for _ in range(self.loops):
                with asyncio.Runner(loop_factory=worker.loop_factory) as runner:
                    worker.fail(runner.run(self.look()))
                worker.operations += 1
            worker.figures["loops_total"] = self.loops

        async def look(self) -> str:
            return type(asyncio.get_running_loop()).__module__
    """


@pytest.mark.slow
@each_model("threads", "processes")
def test_work_is_released_and_counted_like_any_finite_work(own: Own, model: str) -> None:
    record = own.measured(MAKES, workers=2, model=model)
    assert record.finite
    assert record.loop
    assert record.loop.class_ == "asyncio.unix_events._UnixSelectorEventLoop"
    assert record.instants_ns.ready
    for worker in record.workers:
        assert worker.ticks.operations == [0, 5]
        assert worker.released_ns == record.instants_ns.opened
        assert worker.released_ns
        assert worker.started_ns
        assert worker.finished_ns
        assert record.instants_ns.ready < worker.released_ns <= worker.started_ns
        assert worker.started_ns < worker.finished_ns
        assert set(worker.error_samples) == {"asyncio.unix_events"}
        assert worker.figures == {"loops_total": 5}
        assert (worker.pending_tasks, worker.hung) == (0, False)


@pytest.mark.slow
@pytest.mark.one_build
def test_loops_are_those_of_the_cell(own: Own) -> None:
    record = own.measured(MAKES, loop="uvloop")
    (worker,) = record.workers
    assert worker.error_samples[0].startswith("uvloop")
    assert record.loop
    assert (record.loop.class_ or "").startswith("uvloop")


@pytest.mark.slow
@pytest.mark.one_build
def test_work_that_raises_fails_the_run(own: Own) -> None:
    raises = """
        @dataclass
        class Theirs(Workload):
            finite = True
            makes_loops = True

            def work(self, worker: Worker) -> None:
                if worker.index:
                    raise LookupError("no luck")
                time.sleep(3600)
        """
    failure = own.failure(raises, workers=2)
    assert (failure.phase, failure.worker, failure.error) == ("work", 1, "LookupError: no luck")


class Factory:
    """Makes loops and keeps them."""

    def __init__(self) -> None:
        self.made: list[asyncio.AbstractEventLoop] = []

    def __call__(self) -> asyncio.AbstractEventLoop:
        self.made.append(asyncio.new_event_loop())
        return self.made[-1]


def worked(monkeypatch: pytest.MonkeyPatch, way: Any, factory: Factory, runs: int = 4) -> Worker:
    monkeypatch.setattr(Worker, "loop_factory", factory)
    worker = Worker(0, 1, {})
    Lifecycle(way=way, runs=runs, pause_s=0).work(worker)
    return worker


@pytest.mark.parametrize(("way", "loops"), [("run", 4), ("runner", 1)])
def test_loops_are_made_by_the_cells_factory_and_closed(
    way: Any, loops: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    factory = Factory()
    worker = worked(monkeypatch, way, factory)
    assert worker.operations == 4
    assert worker.errors == 0
    assert len(factory.made) == loops
    assert all(loop.is_closed() for loop in factory.made)


def test_a_loop_that_is_used_again_or_changes_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    other, own = asyncio.new_event_loop(), asyncio.Runner.get_loop

    def run(main: Coroutine[Any, Any, Any], *, loop_factory: object) -> Any:
        return other.run_until_complete(main)

    def another(runner: asyncio.Runner) -> asyncio.AbstractEventLoop:
        own(runner)
        return other

    monkeypatch.setattr(asyncio, "run", run)
    again = worked(monkeypatch, "run", Factory())
    monkeypatch.setattr(asyncio.Runner, "get_loop", another)
    changes = worked(monkeypatch, "runner", Factory())
    other.close()
    assert (again.operations, again.errors, changes.operations) == (0, 4, 0)
    assert again.error_samples[0] == "asyncio.run did not create a new loop and close it"
    assert changes.error_samples[0] == "asyncio.Runner changed its loop"


def test_what_cannot_make_loops_of_asyncios_kind_says_so() -> None:
    """A workload that would have to be stopped, and a loop of another library."""
    with pytest.raises(TypeError, match=r"^Endless: a workload that makes loops is finite$"):
        type("Endless", (Workload,), {"makes_loops": True})
    with pytest.raises(UnknownLoopError, match=r"^trio runs on trio, which has no asyncio loop"):
        _ = Worker(0, 1, {}, "trio").loop_factory


@pytest.mark.parametrize(
    ("loop", "reason"),
    [
        ("rloop", "rloop mixes up its descriptors when several threads open and close loops"),
        ("trio", "runs only on asyncio's loops"),
    ],
)
def test_what_makes_no_loop_of_its_own_is_refused(loop: str, reason: str) -> None:
    assert reason_against(Lifecycle(), "threads", loop) == reason
