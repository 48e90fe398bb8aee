"""The window opens when the last worker is warm, and closes before the first one stops."""

import pytest

from tests.support.children import Own, each_model

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


@each_model("threads", "processes")
def test_early_starter_never_counts_alone_and_ramps_do_not_count(own: Own, model: str) -> None:
    """All follow one schedule, and milestones are in order."""
    shape = {"warmup_s": 0.05, "window_s": 0.2, "ticks": 5}
    record = own.measured(SLOW_START, workers=2, model=model, **shape)
    found = record.instants_ns
    milestones = [found.started, found.imported, found.ready, found.opened, found.closed]
    given = [instant for instant in milestones if instant is not None]
    assert len(given) == len(milestones)
    assert given == sorted(given)
    (schedule,) = {tuple(worker.ticks.instant_ns) for worker in record.workers}
    assert (schedule[0], schedule[-1]) == (found.opened, found.closed)
    assert schedule[-1] - schedule[0] == 200_000_000
    for worker in record.workers:
        assert worker.busy_from_ns
        assert worker.busy_until_ns
        assert worker.busy_from_ns + 50_000_000 <= given[2]
        ticks = worker.ticks
        assert worker.busy_from_ns < ticks.time_ns[0]
        assert ticks.time_ns[-1] < worker.busy_until_ns
        assert 0 < ticks.operations[-1] - ticks.operations[0] < AHEAD
        for counter in (ticks.time_ns, ticks.operations, ticks.cpu_ns, ticks.minor_faults):
            assert counter is not None
            assert counter == sorted(value for value in counter if value is not None)
    early, late = record.workers
    assert (early.busy_from_ns or 0) < (late.busy_from_ns or 0)
    assert early.ticks.operations[0] > AHEAD > late.ticks.operations[0] > 0  # what the ramps did
