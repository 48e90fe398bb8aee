"""`handoff` counts each callback once, after it has run, and loses none at the end."""

import asyncio
import threading
from collections.abc import Callable

import pytest

from scaling.journal.record import Record
from tests.support.children import finish, measured
from workers import Worker
from workers.worker.meeting import Barrier, Meeting
from workers.workloads.handoff import Handoff, Sender


def handed_over(workers: int, own_code: bool = False, **parameters: object) -> Record:
    # A worker waits for another, which a machine may stall for longer than a short window is open.
    cell = {
        "workload": "handoff",
        "workers": workers,
        "own_code": own_code,
        "window_s": 2,
        "parameters": parameters,
    }
    return measured(cell)


def timers(record: Record) -> list[bool]:
    names = {"timer_late_mean_s", "timer_late_max_s"}
    assert all(set(worker.figures) in (set(), names) for worker in record.workers)
    return [bool(worker.figures) for worker in record.workers]


def clean(record: Record) -> None:
    for worker in record.workers:
        assert worker.errors == 0, worker.error_samples
        assert worker.pending_tasks == 0
        assert not worker.hung


@pytest.mark.slow
def test_all_others_send_to_the_first() -> None:
    record = handed_over(3)
    clean(record)
    first, *others = record.workers
    assert first.serves
    assert first.ticks.operations[-1] == 0
    assert all(worker.ticks.operations[-1] > worker.ticks.operations[0] for worker in others)
    assert not any(worker.serves for worker in others)
    assert timers(record) == [True, False, False]


@pytest.mark.slow
def test_who_sends_nothing_has_nothing_on_the_way() -> None:
    first, *others = measured({"workload": "handoff", "workers": 3, "in_flight": 12}).workers
    assert first.in_flight is None
    assert [worker.in_flight for worker in others] == [4, 4]


def test_a_share_of_what_all_have_on_the_way_would_be_kept_where_all_send_to_one() -> None:
    assert "its share would be missing" in str(Handoff().uneven())
    assert Handoff(pattern="ring").uneven() is None


@pytest.mark.slow
@pytest.mark.parametrize("own_code", [False, True])
def test_in_a_ring_each_sends_to_the_next(own_code: bool) -> None:
    record = handed_over(3, own_code, pattern="ring", on_the_way=7)
    clean(record)
    assert not any(worker.serves for worker in record.workers)
    assert all(worker.ticks.operations[-1] > 0 for worker in record.workers)
    assert timers(record) == [True] * 3


@pytest.mark.slow
def test_one_alone_sends_to_itself() -> None:
    record = handed_over(1, on_the_way=1)
    clean(record)
    (worker,) = record.workers
    assert worker.ticks.operations[-1] > 0
    assert not worker.serves
    assert timers(record) == [True]


@pytest.mark.slow
@pytest.mark.parametrize("model", ["processes", "interpreters"])
def test_other_models_are_refused(model: str) -> None:
    done = finish({"workload": "handoff", "model": model, "workers": 2})
    assert done.code == 1
    assert done.record.failure is not None
    assert "only inside one interpreter" in done.record.failure.error


class Receiver:
    """A loop that runs its callbacks when the test says so."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], object]] = []

    def call_soon_threadsafe(self, callback: Callable[..., object], *arguments: object) -> None:
        self.waiting.append(lambda: callback(*arguments))

    def run(self, count: int) -> None:
        for _ in range(count):
            self.waiting.pop(0)()


async def sending(on_the_way: int) -> tuple[Worker, Receiver, Sender]:
    worker, receiver = Worker(0, 2, {}), Receiver()
    sender = Sender(worker, receiver)  # type: ignore[arg-type]
    sender.begin(on_the_way)
    return worker, receiver, sender


async def heard() -> None:
    """Let the sender's loop run what has been sent back to it."""
    for _ in range(3):
        await asyncio.sleep(0)


@pytest.mark.parametrize("on_the_way", [1, 2, 7, 64])
def test_no_more_than_that_is_on_the_way(on_the_way: int) -> None:
    async def look() -> None:
        worker, receiver, _ = await sending(on_the_way)
        for _ in range(5 * on_the_way):
            assert len(receiver.waiting) <= on_the_way
            receiver.run(1)
            await heard()
        assert worker.operations + len(receiver.waiting) >= 5 * on_the_way
        assert worker.errors == 0

    asyncio.run(look())


def test_nothing_is_counted_before_it_is_known_to_have_run() -> None:
    async def look() -> None:
        worker, receiver, _ = await sending(8)
        receiver.run(3)
        await heard()
        assert worker.operations == 0
        receiver.run(1)
        await heard()
        assert worker.operations == 4

    asyncio.run(look())


def test_it_is_over_when_the_last_one_has_run() -> None:
    async def look() -> None:
        worker, receiver, sender = await sending(8)
        worker.stop()
        receiver.run(4)
        await heard()
        assert not sender.over.is_set()
        receiver.run(4)
        await heard()
        assert sender.over.is_set()
        assert worker.operations == 8
        assert receiver.waiting == []

    asyncio.run(look())


def test_a_callback_that_did_not_run_is_an_error() -> None:
    async def look() -> None:
        worker, receiver, _ = await sending(8)
        del receiver.waiting[1]
        receiver.run(3)
        await heard()
        assert worker.operations == 0
        assert worker.error_samples == ["3 of 4 callbacks ran"]

    asyncio.run(look())


def test_loops_find_each_other_and_leave_together() -> None:
    meeting = Meeting(3)
    found: dict[int, list[asyncio.AbstractEventLoop]] = {}
    gone: list[int] = []
    told = threading.Event()

    async def come_and_go(index: int) -> None:
        loops = await meeting.join(index)
        assert loops[index] is asyncio.get_running_loop()
        found[index] = loops
        if index == 2:
            told.wait()
            assert gone == []
        await meeting.leave()
        gone.append(index)

    threads = [threading.Thread(target=lambda k=k: asyncio.run(come_and_go(k))) for k in range(3)]
    for thread in threads:
        thread.start()
    while len(waiting(meeting._left)) < 2:  # both others want to leave
        pass
    told.set()
    for thread in threads:
        thread.join()
    assert sorted(gone) == [0, 1, 2]
    assert found[0] == found[1] == found[2]
    assert len(set(map(id, found[0]))) == 3


def waiting(barrier: Barrier) -> list[object]:
    return list(barrier._waiting)


def test_what_is_handed_over_by_default_is_64_at_a_time() -> None:
    assert Handoff().on_the_way == 64
    assert Handoff.in_flight == "on_the_way"
