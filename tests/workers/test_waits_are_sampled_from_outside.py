"""What the loops' threads wait in is read by the driver, and a run never fails because of it."""

import asyncio
import mmap
import os
import select
import threading
import time
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from scaling.analysis.table.time_terms import POLLS
from scaling.journal.record import Record, Ticks, WorkerRecord
from scaling.journal.record.of_child import Slices
from scaling.run import wait_sampler
from scaling.run.probe import ENDED, Phase
from scaling.run.wait_sampler import THREADS_A_ROUND, WaitSampler
from tests.support.children import PATIENCE_S, Own, each_model, record_of
from tests.support.waiting import wait_until
from workers.worker.meter import minor_faults, thread_use

ALWAYS = [0, 2**62]


def record(*windows_ns: list[int]) -> Record:
    workers = [WorkerRecord(index=0, ticks=Ticks(time_ns=each)) for each in windows_ns]
    return Record(schema=1, outcome="measured", workers=workers)


@contextmanager
def threads(*bodies: Callable[[], object]) -> Iterator[list[list[int]]]:
    """Threads of this process that run these; their ids as a worker reports them."""
    started = [threading.Thread(target=body, daemon=True) for body in bodies]
    for each in started:
        each.start()
    wait_until(lambda: all(each.native_id for each in started))
    yield [[os.getpid(), each.native_id or 0] for each in started]
    for each in started:
        each.join()


def sampled(
    ids: list[list[int]],
    enough: int = 5,
    windows_ns: list[list[int]] | None = None,
    found_in: Sequence[Container[str]] = (),
) -> list[dict[str, int]]:
    """What each thread was found in by a sampler that has looked at each so many times, or has
    found each so many times in one of its calls `found_in`.
    """
    sampler = WaitSampler()

    def is_enough() -> bool:
        looks = zip(sampler._threads, found_in, strict=False)
        return all(len(each.times_ns) >= enough for each in sampler._threads) and all(
            sum(each in calls for each in thread._calls) >= enough for thread, calls in looks
        )

    asyncio.run(sampling(sampler, ids, is_enough))
    found = sampler.waits(record(*windows_ns or [ALWAYS] * len(ids)))
    assert found
    assert found.rate_per_s > 0
    assert found.cost_s > 0
    return found.calls


async def sampling(
    sampler: WaitSampler, ids: Sequence[Sequence[int]], is_enough: Callable[[], bool]
) -> None:
    """From ready workers until it is enough."""
    sampler.at(Phase("ready", {"threads": ids}))
    async with asyncio.timeout(PATIENCE_S):
        while not is_enough():  # noqa: ASYNC110 - nobody would set an event
            await asyncio.sleep(0.02)
    sampler.at(Phase("closed"))
    sampler.at(Phase(ENDED))


@pytest.mark.one_build
@pytest.mark.parametrize("source", ["syscall", "wchan"])
def test_calls_have_their_names(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wait_sampler, "_sources", lambda: [source])
    over = threading.Event()
    reading, writing = os.pipe()
    polled = select.epoll()
    polled.register(reading, select.EPOLLIN)

    def runs() -> None:
        while not over.is_set():
            sum(range(10_000))

    def sleeps() -> None:
        while not over.is_set():
            time.sleep(0.2)

    bodies = (over.wait, lambda: os.read(reading, 1), polled.poll, sleeps, runs)
    calls = (["futex"], ["read"], POLLS, ["clock_nanosleep"], ["running"])
    with threads(*bodies) as ids:
        found = sampled(ids, found_in=calls)
        over.set()
        os.write(writing, b"...")
    for thread, names in zip(found, calls, strict=True):
        assert sum(thread.get(name, 0) for name in names) >= 5
    polled.close()
    os.close(reading)
    os.close(writing)


@pytest.mark.one_build
def test_a_sample_outside_the_window_of_its_worker_or_between_its_slices_does_not_count() -> None:
    over = threading.Event()
    with threads(over.wait, over.wait) as ids:
        before, inside = sampled(ids, windows_ns=[[0, 1], ALWAYS], found_in=[["futex"]] * 2)
        over.set()
    assert before == {}
    assert inside["futex"] >= 5
    thread = wait_sampler._SampledThread("syscall", *ids[0])
    thread.times_ns.extend((5, 15, 25))
    thread._calls += ["first", "between", "last"]
    slices = Slices(opened_ns=[0, 20], closed_ns=[10, 30])
    counted = wait_sampler._counted(WorkerRecord(index=0, ticks=Ticks(), slices=slices))
    assert thread.counts(counted) == {"first": 1, "last": 1}


@pytest.mark.one_build
def test_the_cost_of_a_round_does_not_grow_with_the_number_of_workers() -> None:
    """Each round looks at a few, and in the end all have been looked at."""
    over = threading.Event()
    with threads(*[over.wait] * (2 * THREADS_A_ROUND + 1)) as ids:
        counts = [sum(each.values()) for each in sampled(ids, enough=2)]
        over.set()
    assert max(counts) - min(counts) <= 1


@pytest.mark.one_build
def test_what_is_not_permitted_or_not_there_is_not_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    sampler = WaitSampler()
    asyncio.run(sampling(sampler, [[os.getpid(), 2**22 + 1]], lambda: True))
    assert sampler.waits(record(ALWAYS)) is None
    assert sampler.waits(None) is None
    sources = []

    def refused(source: str, *_: object) -> bool:
        sources.append(source)
        return False

    monkeypatch.setattr(wait_sampler, "_is_readable", refused)
    monkeypatch.setattr(wait_sampler, "_sources", lambda: ["syscall", "wchan"])
    sampler = WaitSampler()
    asyncio.run(sampling(sampler, [[os.getpid(), threading.get_native_id()]], lambda: True))
    assert sources == ["syscall", "wchan"]
    assert sampler.waits(record(ALWAYS)) is None


@pytest.mark.one_build
def test_a_thread_outside_a_call_is_in_none_and_one_without_a_name_has_its_number() -> None:
    words = {"running": "running", "-1": "page fault", "999": "call 999"}
    assert {word: wait_sampler._name_of_call(word) for word in words} == words


def waited_ns() -> int:
    """How long the calling thread has waited for a CPU, read by the thread's id."""
    listed = Path(f"/proc/self/task/{threading.get_native_id()}/schedstat").read_text()
    return int(listed.split()[1])


def counted() -> tuple[int, int]:
    """CPU time (ns) and minor faults of the calling thread."""
    use = thread_use()
    return (use["user_ns"] or 0) + (use["system_ns"] or 0), minor_faults() or 0


def counted_since(before: tuple[int, int]) -> tuple[int, int]:
    cpu_ns, faults = counted()
    return cpu_ns - before[0], faults - before[1]


def test_counters_of_a_thread_have_nothing_of_another_one() -> None:
    """One waits while the other one works and touches fresh pages."""
    if thread_use()["run_queue_ns"] is None:
        pytest.skip("this kernel does not count the time in the run queue")
    pages = 1_000
    found: list[tuple[int, int]] = []
    in_order_ns: list[int] = []

    def works() -> None:
        before = counted()
        until_ns = time.thread_time_ns() + 50_000_000
        while time.thread_time_ns() < until_ns:
            pass
        in_order_ns.extend((waited_ns(), thread_use()["run_queue_ns"] or 0, waited_ns()))
        for _ in range(pages):  # one at a time: together they might be one huge page
            with mmap.mmap(-1, mmap.PAGESIZE) as fresh:
                fresh[0] = 1
        found.append(counted_since(before))

    before = counted()
    with threads(works):
        pass
    found.append(counted_since(before))
    (busy_ns, busy_faults), (idle_ns, idle_faults) = found
    assert idle_ns < busy_ns / 2
    assert 2 * idle_faults < pages <= busy_faults
    assert in_order_ns == sorted(in_order_ns)


LOSES = """
    import gc

    @dataclass
    class Theirs(Workload):
        async def run(self, worker: Worker) -> None:
            while worker.running:
                sum(range(20_000))
                # Blocks the loop. In step, one thread of a free-threaded build might never collect:
                # `collect` does nothing while another thread's collection runs.
                time.sleep(0.04 + 0.02 * worker.index)
                gc.collect()
                await asyncio.sleep(0)
                worker.operations += 1
    """


@pytest.mark.slow
@pytest.mark.measures  # on a busy machine a sampler sees a thread a few times in half a second
@each_model("threads", "processes", "interpreters")
def test_every_model_reports_where_its_time_went(model: str, own: Own) -> None:
    ending = own.driven(LOSES, model=model, workers=2, window_s=0.5, ticks=4)
    record_of(ending)
    assert ending.record
    assert ending.waits
    for worker, calls in zip(ending.record.workers, ending.waits.calls, strict=True):
        use, ticks = worker.use, worker.ticks
        assert use
        assert ticks.cpu_ns
        used = [use.user_ns, use.system_ns, use.run_queue_ns, use.collector_ns, use.process_cpu_ns]
        assert all(each is not None and each >= 0 for each in used)
        cpu_ns = (ticks.cpu_ns[-1] or 0) - (ticks.cpu_ns[0] or 0)
        window_ns = ticks.time_ns[-1] - ticks.time_ns[0]
        assert 0 < (use.collector_ns or 0) < cpu_ns <= (use.process_cpu_ns or 0) * 1.01
        assert cpu_ns + (use.run_queue_ns or 0) <= window_ns * 1.01
        assert calls["clock_nanosleep"] > calls.get("epoll_wait", 0)
