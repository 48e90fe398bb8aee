"""The window opens when the last worker is warm, and closes before the first one stops."""

import itertools

import pytest

from tests.support.children import Own, each_model, measured

pytestmark = pytest.mark.slow

# Worker 1 sets up only when worker 0 has counted more than any other can in a warm-up. Both count
# as much once they are stopped.
AHEAD = 1_000_000
SLOW_START = f"""
    from pathlib import Path
    from workers.workloads.compute import Compute

    @dataclass
    class Theirs(Compute):
        async def setup(self, worker: Worker) -> None:
            while worker.index and not self.ahead.exists():
                await asyncio.sleep(0.001)

        async def run(self, worker: Worker) -> None:
            if worker.index == 0:
                worker.operations += {AHEAD}
                self.ahead.touch()
            await super().run(worker)
            worker.operations += {AHEAD}

        async def teardown(self, worker: Worker) -> None:
            worker.operations += {AHEAD}

        @property
        def ahead(self) -> Path:
            return Path(__file__).with_name("ahead")
    """
MODELS = each_model("threads", "processes", "interpreters")


@MODELS
def test_early_starter_never_counts_alone_and_ramps_do_not_count(own: Own, model: str) -> None:
    record = own.measured(SLOW_START, workers=2, model=model, warmup_s=0.05)
    instants = record.instants_ns
    assert instants.ready
    assert instants.opened
    early, late = record.workers
    for worker in (early, late):
        assert worker.busy_from_ns
        assert worker.busy_until_ns
        assert worker.busy_from_ns + 50_000_000 <= instants.ready < instants.opened
        assert worker.busy_from_ns < worker.ticks.time_ns[0]
        assert worker.ticks.time_ns[-1] < worker.busy_until_ns
        assert worker.ticks.operations[-1] - worker.ticks.operations[0] < AHEAD
    assert (early.busy_from_ns or 0) < (late.busy_from_ns or 0)
    assert early.ticks.operations[0] > AHEAD > late.ticks.operations[0] > 0  # what the ramps did


@MODELS
def test_all_follow_one_schedule_and_milestones_are_in_order(model: str) -> None:
    cell = {"workload": "echo", "workers": 3, "model": model, "ticks": 5, "window_s": 0.2}
    record = measured(cell)
    (schedule,) = {tuple(worker.ticks.instant_ns) for worker in record.workers}
    found = record.instants_ns
    assert (schedule[0], schedule[-1]) == (found.opened, found.closed)
    assert schedule[-1] - schedule[0] == 200_000_000
    milestones = [found.started, found.imported, found.ready, found.opened, found.closed]
    given = [instant for instant in milestones if instant is not None]
    assert len(given) == len(milestones)
    assert given == sorted(given)
    assert not record.finite
    for worker in record.workers:
        assert (worker.released_ns, worker.figures, worker.latency) == (None, {}, None)
        columns = worker.ticks
        assert len(columns.time_ns) == 6
        for before, after in itertools.pairwise(columns.time_ns):
            assert before < after
        for counter in (columns.operations, columns.cpu_ns, columns.minor_faults):
            assert counter is not None
            assert counter == sorted(value for value in counter if value is not None)
        assert columns.operations[0] < columns.operations[-1]
