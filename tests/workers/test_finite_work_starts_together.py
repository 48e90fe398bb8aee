"""Finite work is released to all workers at one instant, has no time limit, and counts whole."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from scaling.journal.record import Failure, WorkerRecord
from scaling.run.child import Child, run_child
from scaling.run.probe import Probe
from tests.support.children import QUICK, environment, finish, measured
from tests.support.waiting import limit_from, says

pytestmark = pytest.mark.slow

MODELS = pytest.mark.parametrize("model", ["threads", "processes", "interpreters"])
BOTH = pytest.mark.parametrize("model", ["threads", "processes"])
MIB = 1 << 20

# Worker 1 is slow to set up and finishes after worker 0 has. Counts where nothing may count.
STEPS = """
    from pathlib import Path

    @dataclass
    class Theirs(Workload):
        finite = True
        steps: int = parameter(20, "operations")

        async def setup(self, worker: Worker) -> None:
            await asyncio.sleep(0.2 * worker.index)
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


def instants(worker: WorkerRecord) -> tuple[int, int, int]:
    assert worker.released_ns is not None
    assert worker.started_ns is not None
    assert worker.finished_ns is not None
    return worker.released_ns, worker.started_ns, worker.finished_ns


@MODELS
def test_all_are_released_when_the_last_is_ready_and_each_records_its_finish(
    theirs: Callable[[str], str], tmp_path: Path, model: str
) -> None:
    record = measured({"workload": theirs(STEPS), "workers": 2, "model": model}, tmp_path)
    assert record.finite
    phases = record.instants_ns
    assert phases.ready is not None
    assert phases.opened is not None
    assert phases.closed is not None
    assert phases.measured is not None
    quick, slow = map(instants, record.workers)
    assert quick[0] == slow[0] == phases.opened
    assert phases.ready < phases.opened <= min(quick[1], slow[1])
    assert quick[2] < slow[2] == phases.closed <= phases.measured
    for worker in record.workers:
        released_ns, started_ns, finished_ns = instants(worker)
        columns = worker.ticks
        assert columns.instant_ns == [released_ns, finished_ns]
        assert released_ns <= columns.time_ns[0] <= started_ns
        assert columns.time_ns[1] == finished_ns
        assert columns.operations == [1_000, 1_020]
        assert columns.bytes == [1_000, 1_040]
        assert (worker.busy_from_ns, worker.busy_until_ns) == (started_ns, finished_ns)
        # What it holds, and so its memory, is there until the last is done and memory was read.
        assert columns.errors == [0, 0]
        assert int(worker.error_samples[0]) > phases.measured
    assert [worker.figures for worker in record.workers] == [{"settle_s": 0.5}, {"settle_s": 1.5}]
    assert [worker.serves for worker in record.workers] == [True, False]
    for worker in record.workers:
        assert worker.latency is not None
        assert (worker.latency.value_ns, worker.latency.count) == (list(range(20)), [1] * 20)


@pytest.mark.parametrize("model", ["processes", "interpreters"])
def test_interpreters_are_read_back_at_release_and_finish(
    theirs: Callable[[str], str], tmp_path: Path, model: str
) -> None:
    record = measured({"workload": theirs(STEPS), "workers": 2, "model": model}, tmp_path)
    for worker in record.workers:
        assert worker.process is not None
        assert len(worker.process.gil.seen) == 4
        assert worker.process.cpu_ns is not None
        assert worker.process.cpu_ns > 0


def test_a_windowed_run_says_that_it_is_none() -> None:
    record = measured({"workload": "compute"})
    (worker,) = record.workers
    assert not record.finite
    assert (worker.released_ns, worker.figures, worker.latency) == (None, {}, None)


def test_no_work_at_all_is_finished_at_once(theirs: Callable[[str], str], tmp_path: Path) -> None:
    record = measured({"workload": theirs(STEPS), "parameters": {"steps": 0}}, tmp_path)
    assert [worker.ticks.operations for worker in record.workers] == [[1_000, 1_000]]


FRAGILE = """
    @dataclass
    class Theirs(Workload):
        finite = True
        where: Literal["run", "group", "exit", "kill", "cancel"] = parameter("run", "how it fails")

        async def run(self, worker: Worker) -> None:
            if worker.index == 0:
                await asyncio.sleep(3600)
            await asyncio.sleep(0.05)
            worker.operations += 1
            if self.where == "run":
                raise LookupError("no luck")
            if self.where == "group":
                async with asyncio.TaskGroup() as group:
                    group.create_task(self.fail())
            if self.where == "exit":
                sys.exit(3)
            if self.where == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            raise asyncio.CancelledError

        async def fail(self) -> None:
            raise LookupError("no luck")
    """


def failed(cell: Mapping[str, object], *folders: Path) -> Failure:
    done = finish({"workers": 2, **cell}, *folders)
    assert done.code == 1
    assert done.record.outcome == "failed"
    assert done.record.finite
    assert done.record.failure is not None
    return done.record.failure


@pytest.mark.parametrize(
    ("model", "where", "error"),
    [
        ("threads", "run", "LookupError: no luck"),
        ("processes", "run", "LookupError: no luck"),
        ("interpreters", "run", "LookupError: no luck"),
        ("threads", "group", "LookupError: no luck"),
        ("threads", "exit", "SystemExit: 3"),
        ("threads", "cancel", "CancelledError: "),
    ],
)
def test_worker_that_fails_midway_fails_the_run_at_once(
    theirs: Callable[[str], str], tmp_path: Path, model: str, where: str, error: str
) -> None:
    cell = {"workload": theirs(FRAGILE), "model": model, "parameters": {"where": where}}
    failure = failed(cell, tmp_path)
    assert (failure.phase, failure.worker, failure.error) == ("work", 1, error)


def test_worker_process_that_dies_midway_is_named(
    theirs: Callable[[str], str], tmp_path: Path
) -> None:
    cell = {"workload": theirs(FRAGILE), "model": "processes", "parameters": {"where": "kill"}}
    failure = failed(cell, tmp_path)
    assert failure.phase == "work"
    assert failure.error == "ChannelClosedError: worker 1 ended without reporting why"


@BOTH
def test_worker_that_hangs_is_the_drivers_to_end_with_its_stack(
    theirs: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    workload = theirs(
        """
        @dataclass
        class Theirs(Workload):
            finite = True

            async def run(self, worker: Worker) -> None:
                stands_still()

        def stands_still() -> None:
            with open(os.environ["HUNG"], "a") as hung:
                hung.write("here\\n")
            time.sleep(3600)
        """
    )
    hung = tmp_path / "hung"
    limit_from(monkeypatch, lambda: says(hung, lines=2))
    monkeypatch.setattr(
        "scaling.run.process_tree.LAST_WORDS_S", 3.0
    )  # a machine may take one of them
    child = Child(sys.executable, environment(tmp_path, HUNG=str(hung)))
    cell = {"workload": workload, "model": model, "workers": 2, **QUICK}
    ending = run_child(child, cell, limit_s=0.5)
    assert ending.outcome == "timed-out"
    assert "in stands_still" in ending.stderr


def test_what_is_left_running_is_counted(theirs: Callable[[str], str], tmp_path: Path) -> None:
    workload = theirs(
        """
        @dataclass
        class Theirs(Workload):
            finite = True

            async def run(self, worker: Worker) -> None:
                self.tasks = [asyncio.create_task(asyncio.sleep(3600)) for _ in range(3)]
        """
    )
    (worker,) = measured({"workload": workload}, tmp_path).workers
    assert worker.pending_tasks == 3


def test_callback_that_raises_is_an_error_of_its_worker(
    theirs: Callable[[str], str], tmp_path: Path
) -> None:
    workload = theirs(
        """
        @dataclass
        class Theirs(Workload):
            finite = True

            async def run(self, worker: Worker) -> None:
                asyncio.get_running_loop().call_soon(lambda: 1 / 0)
                await asyncio.sleep(0.01)
        """
    )
    (worker,) = measured({"workload": workload}, tmp_path).workers
    assert worker.ticks.errors == [0, 1]
    assert "ZeroDivisionError" in worker.error_samples[0]


# Works until the driver has read enough.
KEEPS = """
    from pathlib import Path

    @dataclass
    class Theirs(Workload):
        finite = True
        keeps_mib: int = parameter(0, "MiB that are there when the work is done")

        async def run(self, worker: Worker) -> None:
            self.kept = b"x" * (self.keeps_mib << 20)
            here = Path(__file__).parent
            (here / "kept").touch()
            while not (here / "read").exists():
                await asyncio.sleep(0.01)
    """


class Readings:
    """Lets the work end when readings that found what it keeps outnumber those that came before."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._kept, self._read = folder / "kept", folder / "read"
        self.begin()
        sample = Probe._sample

        def counted(probe: Probe) -> None:
            kept = self._kept.exists()
            sample(probe)
            self._count(kept=kept)

        monkeypatch.setattr(Probe, "_sample", counted)

    def begin(self) -> None:
        """Another run is to come."""
        self._before = self._since = 0
        self._kept.unlink(missing_ok=True)
        self._read.unlink(missing_ok=True)

    def _count(self, *, kept: bool) -> None:
        self._since += kept
        self._before += not kept
        if self._since > self._before + 1:  # so that the median is theirs alone
            self._read.touch()


@BOTH
def test_memory_of_the_work_is_read_while_it_is_there(
    theirs: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    workload = theirs(KEEPS)
    child = Child(sys.executable, environment(tmp_path))
    readings = Readings(tmp_path, monkeypatch)

    def read(keeps_mib: int) -> dict[str, float]:
        readings.begin()
        cell = {"workload": workload, "parameters": {"keeps_mib": keeps_mib}, "model": model}
        ending = run_child(child, {**cell, **QUICK})
        assert ending.outcome == "measured", ending.stderr
        memory = ending.memory
        assert memory.samples  # from release to finish
        figures = {
            "rss": memory.rss_bytes,
            "pss": memory.pss_bytes,
            "uss": memory.uss_bytes,
            "peak": memory.peak_bytes,
        }
        return {name: value / MIB for name, value in figures.items() if value is not None}

    without, with_it = read(0), read(50)
    assert with_it.keys() == {"rss", "pss", "uss", "peak"}
    for name, value in with_it.items():
        assert value - without[name] == pytest.approx(50, abs=8)
