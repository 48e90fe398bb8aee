"""The window opens when the last worker is warm, and closes before the first one stops."""

import itertools
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from scaling.analysis.validity.course import not_all_busy
from scaling.journal.record import Record
from tests.support.children import measured
from tests.support.columns_of import columns_of

pytestmark = pytest.mark.slow

# Worker 1 sets up only when worker 0 has counted more than any other can in a warm-up.
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

        @property
        def ahead(self) -> Path:
            return Path(__file__).with_name("ahead")
    """
# Counts by the million where nothing may count.
RAMPS = """
    @dataclass
    class Theirs(Workload):
        async def setup(self, worker: Worker) -> None:
            worker.operations += 1_000_000

        async def run(self, worker: Worker) -> None:
            worker.operations += 10_000_000
            while worker.running:
                await asyncio.sleep(0.001)
                worker.operations += 1
            worker.operations += 1_000_000

        async def teardown(self, worker: Worker) -> None:
            worker.operations += 1_000_000
    """
# After the first, workers stand still for most of the window: waiting for nothing, or blocked. They
# wait until all are at work, however long a machine takes to start them; the window opens just
# then, and may do so most of a second late before too little of a stall is left inside.
STALLS = """
    from pathlib import Path

    @dataclass
    class Theirs(Workload):
        async def run(self, worker: Worker) -> None:
            here = Path(__file__).parent
            (here / f"at-work-{worker.index}").touch()
            while len([*here.glob("at-work-*")]) < worker.workers:
                await asyncio.sleep(0.001)
                worker.operations += 1
            until = time.monotonic() + 0.4
            while worker.running:
                await asyncio.sleep(0.001)
                worker.operations += 1
                if worker.index and time.monotonic() > until:
                    until += 3600
                    if worker.index == 1:
                        await asyncio.sleep(1.4)
                    else:
                        time.sleep(1.4)
    """
MODELS = pytest.mark.parametrize("model", ["threads", "processes", "interpreters"])


def check_busy_together(record: Record, warmup_s: float) -> None:
    instants = record.instants_ns
    assert instants.ready is not None
    assert instants.opened is not None
    for worker in record.workers:
        assert worker.busy_from_ns is not None
        assert worker.busy_until_ns is not None
        assert worker.busy_from_ns + warmup_s * 1e9 <= instants.ready < instants.opened
        assert worker.busy_from_ns < worker.ticks.time_ns[0]
        assert worker.ticks.time_ns[-1] < worker.busy_until_ns


@MODELS
def test_early_starter_never_counts_alone(
    theirs: Callable[[str], str], tmp_path: Path, model: str
) -> None:
    cell = {"workload": theirs(SLOW_START), "workers": 2, "model": model, "warmup_s": 0.05}
    record = measured(cell, tmp_path)
    check_busy_together(record, 0.05)
    early, late = record.workers
    assert early.busy_from_ns is not None
    assert late.busy_from_ns is not None
    assert early.busy_from_ns < late.busy_from_ns
    assert early.ticks.operations[0] > AHEAD > late.ticks.operations[0] > 0  # what the ramps did
    assert early.ticks.operations[-1] - early.ticks.operations[0] < AHEAD


@MODELS
def test_all_follow_one_schedule(model: str) -> None:
    cell = {"workload": "echo", "workers": 3, "model": model, "ticks": 5, "window_s": 0.2}
    record = measured(cell)
    schedules = {tuple(worker.ticks.instant_ns) for worker in record.workers}
    (schedule,) = schedules
    assert (schedule[0], schedule[-1]) == (record.instants_ns.opened, record.instants_ns.closed)
    assert schedule[-1] - schedule[0] == 200_000_000
    for worker in record.workers:
        columns = worker.ticks
        assert len(columns.time_ns) == 6
        for before, after in itertools.pairwise(columns.time_ns):
            assert before < after
        for counter in (columns.operations, columns.cpu_ns, columns.minor_faults):
            assert counter is not None
            assert counter == sorted(value for value in counter if value is not None)
        assert columns.operations[0] < columns.operations[-1]


@MODELS
def test_only_what_is_done_in_the_window_counts(
    theirs: Callable[[str], str], tmp_path: Path, model: str
) -> None:
    (worker,) = measured({"workload": theirs(RAMPS), "model": model}, tmp_path).workers
    first, last = worker.ticks.operations[0], worker.ticks.operations[-1]
    assert 11_000_000 < first < last < 12_000_000


@pytest.mark.measures
@MODELS
def test_worker_that_stalls_makes_the_run_invalid(
    theirs: Callable[[str], str], tmp_path: Path, model: str
) -> None:
    cell = {
        "workload": theirs(STALLS),
        "workers": 3,
        "model": model,
        "window_s": 2,
        "ticks": 20,
    }
    record = measured(cell, tmp_path)
    busy, *stalled = record.workers
    assert findings(msgspec.structs.replace(record, workers=[busy])) == []
    for each in stalled:
        found = findings(msgspec.structs.replace(record, workers=[busy, each]))
        assert found == ["not-all-busy"]


def findings(record: Record) -> list[str]:
    """Whether the check has something to say against a run."""
    return [found.word for _, found in not_all_busy(columns_of(record).batch)]


def test_milestones_are_in_order() -> None:
    found = measured({"workload": "compute"}).instants_ns
    milestones = [found.started, found.imported, found.ready, found.opened, found.closed]
    given = [instant for instant in milestones if instant is not None]
    assert len(given) == len(milestones)
    assert given == sorted(given)
