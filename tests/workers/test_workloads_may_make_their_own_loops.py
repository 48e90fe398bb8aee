"""A workload that makes its own loops is called where none runs, and is measured whole."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.children import finish, measured
from workers import Workload
from workers.loops.registry import LOOPS, UnknownLoopError
from workers.worker.handle import Worker

pytestmark = pytest.mark.slow

MODELS = pytest.mark.parametrize("model", ["threads", "processes", "interpreters"])
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


@MODELS
def test_work_is_released_and_counted_like_any_finite_work(
    theirs: Callable[[str], str], tmp_path: Path, model: str
) -> None:
    record = measured({"workload": theirs(MAKES), "workers": 2, "model": model}, tmp_path)
    assert record.finite
    assert record.loop is not None
    assert record.loop.class_ == "asyncio.unix_events._UnixSelectorEventLoop"
    assert record.instants_ns.ready is not None
    for worker in record.workers:
        assert worker.ticks.operations == [0, 5]
        assert worker.released_ns == record.instants_ns.opened
        assert worker.released_ns is not None
        assert worker.started_ns is not None
        assert worker.finished_ns is not None
        assert record.instants_ns.ready < worker.released_ns <= worker.started_ns
        assert worker.started_ns < worker.finished_ns
        assert set(worker.error_samples) == {"asyncio.unix_events"}
        assert worker.figures == {"loops_total": 5}
        assert (worker.pending_tasks, worker.hung) == (0, False)


@pytest.mark.parametrize("loop", [name for name, loop in LOOPS.items() if loop.made_by == name])
def test_loops_are_those_of_the_cell(
    theirs: Callable[[str], str], tmp_path: Path, loop: str
) -> None:
    record = measured({"workload": theirs(MAKES), "loop": loop}, tmp_path)
    (worker,) = record.workers
    assert worker.error_samples[0].startswith(loop)
    assert record.loop is not None
    assert (record.loop.class_ or "").startswith(loop)


@MODELS
def test_work_that_raises_fails_the_run(
    theirs: Callable[[str], str], tmp_path: Path, model: str
) -> None:
    workload = theirs(
        """
        @dataclass
        class Theirs(Workload):
            finite = True
            makes_loops = True

            def work(self, worker: Worker) -> None:
                if worker.index:
                    raise LookupError("no luck")
                time.sleep(3600)
        """
    )
    done = finish({"workload": workload, "workers": 2, "model": model}, tmp_path)
    assert done.code == 1
    failure = done.record.failure
    assert failure is not None
    assert (failure.phase, failure.worker, failure.error) == ("work", 1, "LookupError: no luck")


def test_one_that_would_have_to_be_stopped_is_no_workload() -> None:
    with pytest.raises(TypeError, match=r"^Endless: a workload that makes loops is finite$"):
        type("Endless", (Workload,), {"makes_loops": True})


def test_trio_makes_no_loop_of_asyncios_kind() -> None:
    with pytest.raises(UnknownLoopError, match=r"^trio runs on trio, which has no asyncio loop"):
        _ = Worker(0, 1, {}, "trio").loop_factory
