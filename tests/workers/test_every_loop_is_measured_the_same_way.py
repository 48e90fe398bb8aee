"""On every loop of the registry a worker runs and reports in the same way.

Finite work on them is counted in `test_finite_workloads_count_every_task.py`.
"""

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import pytest
import trio
from _pytest.mark import ParameterSet
from trio.testing import MockClock

from tests.support.children import PORTABLE_LOOPS, Finished, Own
from workers.cell import schedule
from workers.loops import LOOPS, runner_for

pytestmark = pytest.mark.slow

# Each loop in threads, and each model with a loop of each runner; `nox -s thorough` has all pairs.
ELSEWHERE = [("uvloop", "processes"), ("trio", "forked"), ("trio", "interpreters")]


def cases() -> Iterator[ParameterSet]:
    for loop, model in product(LOOPS, ["threads", "processes", "forked", "interpreters"]):
        if model == "threads" or (loop, model) in ELSEWHERE:
            build = pytest.mark.free_threaded if model == "threads" else pytest.mark.one_build
            yield pytest.param(loop, model, marks=build)
        elif model != "interpreters" or loop in PORTABLE_LOOPS:
            yield pytest.param(loop, model, marks=pytest.mark.thorough)


MS = 1_000_000

NAPS = """
    import importlib
    from workers.loops import LOOPS

    @dataclass
    class Theirs(Workload):
        libraries = ("asyncio", "trio", "anyio")
        way: Literal["listens", "deaf"] = parameter("listens", "how")

        async def setup(self, worker: Worker) -> None:
            self.sleep = importlib.import_module(LOOPS[worker.loop].library).sleep
            await self.sleep(0.01)

        async def run(self, worker: Worker) -> None:
            if self.way == "deaf":
                await self.sleep(3600)
            while worker.running:  # one a turn of the loop, as late ticks are: one between any two
                await self.sleep(0)
                worker.operations += 1

        async def teardown(self, worker: Worker) -> None:
            await self.sleep(0.001)
            worker.fail("torn down")
    """

# With traffic that does not end; a teardown has all the time that it has elsewhere, since a machine
# may hold it up.
IMPATIENT = """
    import workers.worker.session
    workers.worker.session.GRACE_S = 0.1
    """


def strict(loop: str) -> str:
    """Have whatever is left open shown; but rloop 0.5 drops its own two sockets unclosed."""
    return "error,ignore::ResourceWarning" if loop == "rloop" else "error"


# rloop 0.5 now and then cannot close a loop that runs beside another; a study keeps such a run as a
# failed one. Nothing that is tested here depends on it.
STAYS_OPEN = ("rloop", "RuntimeError: Cannot close a running event loop")
MORE_TRIES = 9


def finish_on(own: Own, source: str, loop: str, **cell: Any) -> Finished:
    """Run a workload in a child to its end, anew if that was rloop's own doing."""
    own.variables["PYTHONWARNINGS"] = strict(loop)
    once = partial(own.finish, source, loop=loop, **cell)
    done = once()
    for _ in range(MORE_TRIES):
        failure = done.record.failure
        if failure is None or (loop, failure.error) != STAYS_OPEN:
            break
        done = once()
    return done


@pytest.mark.parametrize(("loop", "model"), [*cases()])
def test_traffic_in_a_window(own: Own, loop: str, model: str) -> None:
    done = finish_on(own, NAPS, loop, model=model, workers=2, ticks=5)
    assert (done.stderr, done.code) == ("", 0)
    record = done.record
    assert record.loop
    assert record.loop.name == loop
    assert (record.loop.version or "")[0].isdigit()
    assert (record.loop.class_ or "").startswith(loop.rpartition("/")[2])
    assert {worker.loop_class for worker in record.workers} == {record.loop.class_}
    assert len({tuple(worker.ticks.instant_ns) for worker in record.workers}) == 1
    for worker in record.workers:
        columns = worker.ticks
        assert len(columns.time_ns) == 6
        assert columns.operations == sorted(columns.operations)
        assert 0 < columns.operations[0] < columns.operations[-1]
        assert worker.error_samples == ["torn down"]
        assert (worker.pending_tasks, worker.hung) == (0, False)


@pytest.mark.one_build
@pytest.mark.parametrize("loop", ["asyncio", "trio"])  # one loop of each runner
def test_traffic_that_does_not_listen_is_cancelled(own: Own, loop: str) -> None:
    done = finish_on(own, IMPATIENT + NAPS, loop, parameters={"way": "deaf"})
    assert (done.stderr, done.code) == ("", 0)
    (worker,) = done.record.workers
    assert (worker.pending_tasks, worker.hung) == (0, False)
    assert worker.error_samples == ["torn down"]


NURSERY = """
    import trio
    import workers.worker.session
    workers.worker.session.GRACE_S = 0.1

    @dataclass
    class Theirs(Workload):
        libraries = ("trio", "anyio")
        finite = {finite}

        async def run(self, worker: Worker) -> None:
            {run}

        async def teardown(self, worker: Worker) -> None:
            {teardown}

        async def fail(self) -> None:
            raise LookupError("no luck")
    """


def nursery(run: str, teardown: str = "pass", *, finite: bool = False) -> str:
    return NURSERY.format(run=run, teardown=teardown, finite=finite)


@pytest.mark.one_build
def test_a_failed_nursery_reports_what_failed_in_it(own: Own) -> None:
    failure = own.failure(
        nursery("""
            async with trio.open_nursery() as nursery:
                nursery.start_soon(trio.sleep, 3600)
                nursery.start_soon(self.fail)
        """, finite=True), loop="anyio/trio",
    )  # fmt: skip
    assert (failure.phase, failure.error) == ("work", "LookupError: no luck")
    assert "ExceptionGroup" in failure.traceback


@pytest.mark.one_build
def test_what_is_left_on_trio_is_cut_short_and_counted(own: Own) -> None:
    teardown_hangs = nursery("await worker.stopped()", "await trio.sleep(3600)")
    leaves_a_task = nursery(
        "trio.lowlevel.spawn_system_task(trio.sleep, 3600); await worker.stopped()"
    )
    for source in (teardown_hangs, leaves_a_task):
        (worker,) = own.measured(source, loop="trio").workers
        assert (worker.pending_tasks, worker.hung) == (1, False)


class TriosTime:
    """The monotonic clock, in step with trio's own, which begins elsewhere."""

    LEAD_S = 5_000.0

    def monotonic(self) -> float:
        return trio.current_time() + self.LEAD_S

    def monotonic_ns(self) -> int:
        return round(self.monotonic() * 1e9)


def test_ticks_on_trio_are_taken_on_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, jumping = TriosTime(), MockClock(autojump_threshold=0)
    monkeypatch.setattr("workers.loops.on_trio.time", clock)
    taken: list[tuple[int, int]] = []

    def tick(instant_ns: int) -> None:
        taken.append((instant_ns, clock.monotonic_ns()))
        if len(taken) == 3:
            jumping.jump(0.35)  # the loop is held up over three of the following instants

    async def take() -> list[int]:
        instants_ns = schedule(clock.monotonic_ns() + 20 * MS, 1.0, 10)
        await runner_for("trio").take_ticks(instants_ns, tick)
        return instants_ns

    instants_ns = trio.run(take, clock=jumping)
    assert [due for due, _ in taken] == instants_ns
    late_ms = [round((time - due) / MS) for due, time in taken]
    assert late_ms == [0, 0, 0, 250, 150, 50, 0, 0, 0, 0, 0]
