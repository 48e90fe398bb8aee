"""Finite work is released to all workers at one instant, has no time limit, and counts whole."""

import asyncio
import math
from types import SimpleNamespace
from typing import cast

import pytest

from tests.support.children import Own, each_model
from workers import Worker, Workload
from workers.channel import Channel, Message
from workers.loops.libraries import Runner
from workers.worker.finite import measure_finite, measure_without_loop
from workers.worker.session import Session

pytestmark = pytest.mark.slow

# Worker 1 is slow to set up and finishes after worker 0 has. Counts where nothing may count.
STEPS = """
    from pathlib import Path

    @dataclass
    class Theirs(Workload):
        finite = True
        steps: int = parameter(20, "operations")

        async def setup(self, worker: Worker) -> None:
            await asyncio.sleep(0.1 * worker.index)
            worker.operations += 1_000
            worker.bytes += 1_000

        async def run(self, worker: Worker) -> None:
            for step in range(self.steps):
                await asyncio.sleep(0.001)
                worker.operations += 1
                worker.bytes += 2
                worker.latency(step)
            worker.figures["settle_s"] = 0.5 + worker.index
            worker.serves = worker.index == 0
            finished = Path(__file__).with_name("finished")
            while worker.index and not finished.exists():
                await asyncio.sleep(0.01)
            asyncio.get_running_loop().call_soon(finished.touch)  # once this has returned

        async def teardown(self, worker: Worker) -> None:
            worker.operations += 1_000
            worker.fail(f"{time.monotonic_ns()}")
    """


@each_model("threads", "processes")
def test_all_are_released_when_the_last_is_ready_and_each_records_its_finish(
    own: Own, model: str
) -> None:
    record = own.measured(STEPS, workers=2, model=model)
    assert record.finite
    phases = record.instants_ns
    assert phases.ready
    assert phases.opened
    assert phases.measured
    for worker in record.workers:
        columns, process = worker.ticks, worker.process
        assert worker.started_ns
        assert worker.finished_ns
        assert phases.ready < phases.opened <= worker.started_ns < worker.finished_ns
        assert worker.finished_ns <= phases.measured
        assert columns.instant_ns == [worker.released_ns, worker.finished_ns]
        assert worker.released_ns == phases.opened <= columns.time_ns[0] <= worker.started_ns
        assert columns.time_ns[1] == worker.finished_ns
        assert (columns.operations, columns.bytes) == ([1_000, 1_020], [1_000, 1_040])
        assert (worker.busy_from_ns, worker.busy_until_ns) == (
            worker.started_ns,
            worker.finished_ns,
        )
        # What it holds, and so its memory, is there until the last is done and memory was read.
        assert columns.errors == [0, 0]
        assert int(worker.error_samples[0]) > phases.measured
        assert worker.latency
        assert (worker.latency.value_ns, worker.latency.count) == (list(range(20)), [1] * 20)
        assert (process is None) == (model == "threads")
        assert process is None or (len(process.gil.seen) == 4 and (process.cpu_ns or 0) > 0)
    quick, slow = record.workers
    assert (quick.finished_ns or 0) < (slow.finished_ns or 0)
    assert slow.finished_ns == phases.closed
    assert [worker.figures for worker in record.workers] == [{"settle_s": 0.5}, {"settle_s": 1.5}]
    assert [worker.serves for worker in record.workers] == [True, False]


class Early:
    """A clock whose first sleep ends after half of its time."""

    def __init__(self) -> None:
        self.now_ns = 0
        self._sleeps = 0

    def monotonic_ns(self) -> int:
        return self.now_ns

    def sleep(self, seconds: float) -> None:
        self._sleeps += 1
        self.now_ns += math.ceil(seconds * (0.5e9 if self._sleeps == 1 else 1e9))


class OnClock:
    """What finite work needs of a runner."""

    def __init__(self, clock: Early) -> None:
        self._clock = clock

    async def sleep(self, seconds: float) -> None:
        self._clock.sleep(seconds)

    async def receive(self, channel: Channel) -> Message:
        return channel.receive()


class Nothing(Workload):
    finite = True

    async def run(self, worker: Worker) -> None:
        pass

    def work(self, worker: Worker) -> None:
        pass


@pytest.mark.one_build
@pytest.mark.parametrize("on_loop", [True, False])
def test_a_timer_that_fires_early_starts_nothing_before_the_release(
    on_loop: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, released_ns = Early(), 20_000_000
    monkeypatch.setattr("workers.worker.finite.time", clock)
    work: Message = {"do": "work", "released_ns": released_ns, "share_done": 1.0}
    orders = iter([work, {"do": "stop"}])
    pretended = SimpleNamespace(
        workload=Nothing(),
        worker=None,
        ready={},
        channel=SimpleNamespace(send=lambda message: None, receive=orders.__next__),
        meter=SimpleNamespace(open=lambda *_, **__: 0, close=lambda _: clock.now_ns),
    )
    session = cast(Session, pretended)
    if on_loop:
        times = asyncio.run(measure_finite(session, cast(Runner, OnClock(clock))))
    else:
        times = measure_without_loop(session)
    assert times["released_ns"] == released_ns
    assert times["started_ns"] >= released_ns


FRAGILE = """
    @dataclass
    class Theirs(Workload):
        finite = True
        where: Literal["group", "cancel"] = parameter("group", "how it fails")

        async def run(self, worker: Worker) -> None:
            if worker.index == 0:
                await asyncio.sleep(3600)
            await asyncio.sleep(0.05)
            worker.operations += 1
            if self.where == "group":
                async with asyncio.TaskGroup() as group:
                    group.create_task(self.fail())
            raise asyncio.CancelledError

        async def fail(self) -> None:
            raise LookupError("no luck")
    """


@pytest.mark.one_build
@pytest.mark.parametrize(
    ("where", "error"),
    [
        ("group", "LookupError: no luck"),
        ("cancel", "CancelledError: "),
    ],
)
def test_worker_that_fails_midway_fails_the_run_at_once(own: Own, where: str, error: str) -> None:
    """Other models report a failure in the same way (`test_workload_failures_are_recorded.py`)."""
    done = own.finish(FRAGILE, workers=2, parameters={"where": where})
    assert done.record.finite
    failure = done.failure
    assert (failure.phase, failure.worker, failure.error) == ("work", 1, error)


@pytest.mark.one_build
def test_tasks_that_are_left_and_callbacks_that_raise_are_counted(own: Own) -> None:
    (worker,) = own.measured("""
        @dataclass
        class Theirs(Workload):
            finite = True

            async def run(self, worker: Worker) -> None:
                self.tasks = [asyncio.create_task(asyncio.sleep(3600)) for _ in range(3)]
                asyncio.get_running_loop().call_soon(lambda: 1 / 0)
                await asyncio.sleep(0.01)
        """).workers
    assert worker.pending_tasks == 3
    assert worker.ticks.errors == [0, 1]
    assert "ZeroDivisionError" in worker.error_samples[0]
