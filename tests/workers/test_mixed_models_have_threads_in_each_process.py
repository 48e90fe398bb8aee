"""Of a mixed model, N / K processes have K loop threads each, and nothing else of a run changes."""

import re
import sys

import pytest

from scaling.journal.record import Record
from tests.support.children import FREE_THREADED, Own, driven, failure_of, pss_mib, record_of
from tests.support.serving import alternated, are_apart, served, spans
from workers.cell import CellError, read_cell
from workers.host.hosting import numbered
from workers.host.models import refusal

TWO_BY_TWO = [(0, 0), (0, 1), (1, 0), (1, 1)]

# Each worker writes down its process, its thread, and what the module of this process has seen.
TELLING = """
    import threading

    IMPORTED = threading.current_thread() is threading.main_thread()
    SEEN = []

    @dataclass
    class Theirs(Workload):
        alone = None
        kill: bool = parameter(False, "whether a process is")

        async def setup(self, worker: Worker) -> None:
            SEEN.append(worker.index)
            worker.figures["imported_in_main"] = float(IMPORTED)
            if self.kill and worker.index == 2:
                os.kill(os.getpid(), signal.SIGKILL)

        async def run(self, worker: Worker) -> None:
            while worker.running:
                await asyncio.sleep(0.001)
                worker.operations += 1
            worker.figures["first_seen"] = min(SEEN)
            worker.figures["seen"] = len(SEEN)
            worker.figures["pid"] = os.getpid()
    """


def threads(record: Record) -> list[tuple[int, int] | None]:
    return [worker.thread for worker in record.workers]


# On each build, where it makes no difference, one of both.
EACH = pytest.mark.parametrize(
    "model",
    [
        pytest.param("mixed:2", marks=pytest.mark.free_threaded),
        pytest.param("mixed-forked:2", marks=pytest.mark.one_build),
    ],
)


@pytest.mark.slow
@pytest.mark.one_build
def test_a_fault_of_one_process_fails_the_run_and_is_reported_once(own: Own) -> None:
    ending = own.driven(TELLING, model="mixed-forked:2", workers=4, parameters={"kill": True})
    said = failure_of(ending).error
    assert re.fullmatch(r"ChannelClosedError: worker [23] ended without reporting why", said)
    assert ending.exit_code == 1


@pytest.mark.slow
@EACH
def test_each_process_has_its_loops_in_threads_and_reads_itself_back(own: Own, model: str) -> None:
    record = record_of(own.driven(TELLING, model=model, workers=4))
    assert threads(record) == TWO_BY_TWO
    figures = [worker.figures for worker in record.workers]
    assert len({each["pid"] for each in figures}) == 2
    assert [each["first_seen"] for each in figures] == [0, 0, 2, 2]
    for each in figures:
        assert (each["seen"], each["imported_in_main"]) == (2, 1)
    read_back = [worker.process for worker in record.workers]
    assert [each is not None for each in read_back] == [True, False, True, False]
    for process in filter(None, read_back):
        assert process.gil.seen == (not FREE_THREADED,) * 4
        assert process.gc_frozen == model.startswith("mixed-forked")
        assert process.os_threads == 3
    assert all(
        worker.ticks.operations[-1] > worker.ticks.operations[0] for worker in record.workers
    )


@pytest.mark.slow
@pytest.mark.one_build
@pytest.mark.needs("stops")
def test_mixed_runs_take_turns_with_others() -> None:
    """Under a GIL the loops of a process block between slices, and open the next one together."""
    cell = {"workload": "echo", "workers": 4, "warmup_s": 0.05, "window_s": 0.4, "ticks": 1}
    endings, _ = alternated([cell | {"model": each} for each in ("mixed-forked:2", "threads")])
    records = [record_of(each) for each in endings]
    assert are_apart(records)
    assert threads(records[0]) == TWO_BY_TWO
    for record in records:
        assert len(spans(record)) >= 4
        assert all(worker.ticks.operations[-1] > 0 for worker in record.workers)


@pytest.mark.slow
@pytest.mark.one_build
def test_connections_are_dealt_evenly_over_all_loops() -> None:
    """The ledger: each loop has as many, and clients saw answers that the loops counted."""
    asked = {"server": "aiohttp", "accept": "acceptor"}
    ending = served(
        "serve", connections=8, rate_per_s=None, parameters=asked, workers=4, model="mixed-forked:2"
    )
    record = record_of(ending)
    assert threads(record) == TWO_BY_TWO
    assert [worker.figures["connections_total"] for worker in record.workers] == [2] * 4
    counted = sum(worker.ticks.operations[-1] for worker in record.workers)
    assert ending.load
    assert 0 < ending.load.completed <= counted


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.one_build
def test_memory_of_the_tree_has_a_copy_of_the_state_for_each_process() -> None:
    state = {"workload": "state", "warmup_s": 0.1, "workers": 4}

    def mib(model: str, objects: int = 100_000) -> float:
        return pss_mib(driven(state | {"model": model, "parameters": {"objects": objects}}))

    threads, mixed, processes = map(mib, ("threads", "mixed:2", "processes"))
    whole = threads - mib("threads", 1)
    assert whole > 20
    assert 0.8 * whole < mixed - threads < 2 * whole
    assert processes - mixed > 1.6 * whole


@pytest.mark.one_build
@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("mixed:3", "model: 4 workers cannot be processes of 3 threads (mixed:3)"),
        ("mixed:1", "model: 4 workers cannot be processes of 1 threads (mixed:1)"),
        ("mixed", "model: expected mixed:K with threads per process, got 'mixed'"),
        ("threads:2", "model: expected mixed:K with threads per process, got 'threads:2'"),
        ("mixed:x", "model: expected mixed:K with threads per process, got 'mixed:x'"),
    ],
)
def test_what_cannot_be_mixed_is_refused_in_a_line(model: str, said: str) -> None:
    with pytest.raises(CellError) as refused:
        read_cell({"workload": "echo", "model": model, "workers": 4})
    assert str(refused.value) == said


@pytest.mark.one_build
@pytest.mark.parametrize(("system", "known"), [("darwin", "mixed"), ("win32", None)])
def test_systems_have_what_their_processes_can(
    monkeypatch: pytest.MonkeyPatch, system: str, known: str | None
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    assert "forked workers need Linux" in (refusal("forked") or "")
    assert refusal("mixed-forked")
    assert (refusal("mixed") is None) == (known == "mixed")


@pytest.mark.one_build
def test_processes_and_threads_are_numbered_in_the_order_of_workers() -> None:
    assert numbered([[90, 91], [90, 92], [80, 80], [80, 91]]) == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert numbered([[7, 7], [7, 7]]) == [[0, 0], [0, 0]]  # which `workers` finds wrong
    assert numbered([]) == []
