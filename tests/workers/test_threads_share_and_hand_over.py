"""`shared` has every way of sharing, and `handoff` counts each callback once and times timers."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import get_args

import pytest

from scaling.journal.record import Record
from tests.support.children import measured
from workers import Worker
from workers.describe import load_choices, refusals
from workers.worker.shared import Meeting
from workers.worker.workload import built_in, load_workload
from workers.workloads.handoff import Handoff, Sender, Timekeeper
from workers.workloads.shared import OF_ONE_LOOP, RUNGS, OfOneLoop, Rung, Shared


def handed_over(workers: int, **cell: object) -> Record:
    # A worker waits for another, which a machine may stall for longer than a short window is open.
    asked = {"workload": "handoff", "workers": workers, "window_s": 0.8}
    record = measured(asked | cell)
    for worker in record.workers:
        assert worker.errors == 0, worker.error_samples
        assert (worker.pending_tasks, worker.hung) == (0, False)
    return record


def has_timers(record: Record) -> list[bool]:
    names = {"timer_late_mean_s", "timer_late_max_s"}
    assert all(set(worker.figures) in (set(), names) for worker in record.workers)
    return [bool(worker.figures) for worker in record.workers]


@pytest.mark.slow
@pytest.mark.free_threaded
def test_all_others_send_to_the_first_who_has_nothing_on_the_way() -> None:
    """A share of what all have would be missing."""
    record = handed_over(3, in_flight=12)
    first, *others = record.workers
    assert (first.serves, first.ticks.operations[-1], first.in_flight) == (True, 0, None)
    assert [worker.in_flight for worker in others] == [4, 4]
    assert all(worker.ticks.operations[-1] > worker.ticks.operations[0] for worker in others)
    assert not any(worker.serves for worker in others)
    assert has_timers(record) == [True, False, False]
    assert "its share would be missing" in str(Handoff().uneven())
    assert Handoff(pattern="ring").uneven() is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("workers", "own_code"),
    [
        pytest.param(3, True, marks=pytest.mark.free_threaded),
        pytest.param(1, False, marks=pytest.mark.one_build),
    ],
)
def test_in_a_ring_each_sends_to_the_next(workers: int, own_code: bool) -> None:
    """One alone sends to itself."""
    parameters = {"pattern": "ring", "on_the_way": 7}
    record = handed_over(workers, own_code=own_code, parameters=parameters)
    assert not any(worker.serves for worker in record.workers)
    assert all(worker.ticks.operations[-1] > 0 for worker in record.workers)
    assert has_timers(record) == [True] * workers


@pytest.mark.one_build
def test_other_models_are_refused() -> None:
    why = {"handoff": "only inside one interpreter", "shared": "only threads do"}
    for workload, says in why.items():
        asked = load_workload(workload)()
        assert says in (asked.refuses("processes", "asyncio") or "")
        assert asked.refuses("interpreters", "asyncio")
        assert asked.refuses("threads", "asyncio") is None


class Receiver:
    """A loop that runs its callbacks when the test says so."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], object]] = []

    def call_soon_threadsafe(self, callback: Callable[..., object], *arguments: object) -> None:
        self.waiting.append(lambda: callback(*arguments))

    def run(self, count: int) -> None:
        for _ in range(count):
            self.waiting.pop(0)()


async def heard() -> None:
    """Let the sender's loop run what has been sent back to it."""
    for _ in range(3):
        await asyncio.sleep(0)


@pytest.mark.one_build
def test_callbacks_count_when_they_are_known_to_have_run_and_all_have_at_the_end() -> None:
    """No more than that are on the way."""

    async def sending(on_the_way: int) -> tuple[Worker, Receiver, Sender]:
        worker, receiver = Worker(0, 2, {}), Receiver()
        sender = Sender(worker, receiver)  # type: ignore[arg-type]
        sender.begin(on_the_way)
        return worker, receiver, sender

    async def look() -> None:
        for on_the_way in (1, 2, 7, 64):
            worker, receiver, _ = await sending(on_the_way)
            for _ in range(5 * on_the_way):
                assert len(receiver.waiting) <= on_the_way
                receiver.run(1)
                await heard()
            assert worker.operations + len(receiver.waiting) >= 5 * on_the_way
        worker, receiver, sender = await sending(8)
        receiver.run(3)
        await heard()
        assert worker.operations == 0
        receiver.run(1)
        await heard()
        assert worker.operations == 4
        worker.stop()
        receiver.run(4)
        await heard()
        assert not sender.over.is_set()
        receiver.run(4)
        await heard()
        assert sender.over.is_set()
        assert (worker.operations, receiver.waiting) == (12, [])
        worker, receiver, _ = await sending(8)
        del receiver.waiting[1]  # one does not run
        receiver.run(3)
        await heard()
        assert worker.operations == 0
        assert worker.error_samples == ["3 of 4 callbacks ran"]

    asyncio.run(look())


@pytest.mark.one_build
def test_loops_find_each_other_and_leave_together() -> None:
    meeting = Meeting(3)
    found: dict[int, list[asyncio.AbstractEventLoop]] = {}
    gone: list[int] = []

    async def come_and_go(index: int) -> None:
        found[index] = await meeting.join(index)
        assert found[index][index] is asyncio.get_running_loop()
        while index == 2 and len(meeting._left._waiting) < 2:  # noqa: ASYNC110 - of other loops
            await asyncio.sleep(0)
        assert gone == []
        await meeting.leave()
        gone.append(index)

    with ThreadPoolExecutor(3) as threads:
        [*threads.map(lambda index: asyncio.run(come_and_go(index)), range(3))]
    assert sorted(gone) == [0, 1, 2]
    assert found[0] == found[1] == found[2]
    assert len(set(map(id, found[0]))) == 3


PERIOD_S = 0.010


class Clock:
    """A clock and a loop with one timer on it, both moved by hand; the loop's own clock is off."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.due_s = 0.0
        self.callback: Callable[[], object] | None = None

    def monotonic(self) -> float:
        return self.now_s

    def time(self) -> float:
        return self.now_s - 42.0

    def call_at(self, at_s: float, callback: Callable[[], object]) -> "Clock":
        self.due_s, self.callback = at_s + 42.0, callback
        return self

    def cancel(self) -> None:
        self.callback = None

    def fire(self, late_s: float) -> None:
        """Go to when the timer is due and beyond; run it."""
        assert self.callback is not None
        self.now_s = max(self.now_s, self.due_s + late_s)
        self.callback()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("workers.workloads.handoff.time", clock)
    monkeypatch.setattr(asyncio, "get_running_loop", lambda: clock)
    return clock


@pytest.mark.one_build
@pytest.mark.parametrize(
    ("late_s", "mean_s", "max_s"),
    [
        ([0.001, 0.003, 0.002], 0.002, 0.003),
        ([0.035, 0.0, 0.0, 0.0], 0.020, 0.035),  # in a stall four are due: 35, 25, 15, 5 ms late
        ([-0.001], 0.0, 0.0),  # early is on time
    ],
)
def test_lateness_counts_from_when_a_timer_was_due(
    clock: Clock, late_s: list[float], mean_s: float, max_s: float
) -> None:
    kept = Timekeeper(PERIOD_S)
    for each in late_s:
        clock.fire(each)
    figures = kept.stop()
    assert figures["timer_late_mean_s"] == pytest.approx(mean_s)
    assert figures["timer_late_max_s"] == pytest.approx(max_s)
    assert clock.callback is None
    began_s = clock.now_s
    Timekeeper(PERIOD_S)
    for _ in range(100):
        clock.fire(0.004)
    assert clock.due_s == pytest.approx(began_s + 101 * PERIOD_S)  # it does not drift
    kept = Timekeeper(PERIOD_S)
    clock.now_s += 0.510
    assert kept.stop()["timer_late_max_s"] == pytest.approx(0.5)  # it had no turn, and counts


@pytest.mark.one_build
@pytest.mark.parametrize("sharing", RUNGS)
def test_rung_does_something_for_every_turn(sharing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    touched: list[str] = []

    class Watched:
        @property
        def value(self) -> int:
            touched.append("read")
            return 1

        @value.setter
        def value(self, _: int) -> None:
            touched.append("written")

        @property
        def lock(self) -> "Watched":
            return self

        def __enter__(self) -> None:
            touched.append("locked")

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr("workers.workloads.shared.COMMON", Watched())
    RUNGS[sharing](5)
    expected = {
        "nothing": [],
        "global": [],
        "value": ["read"],
        "attribute-read": ["read"] * 5,
        "attribute-write": ["written"] * 5,
        "lock": ["locked"] * 5,
    }
    assert touched == expected[sharing]


@pytest.mark.slow
@pytest.mark.one_build
def test_what_is_of_one_loop_is_refused_in_the_plan_with_the_reason() -> None:
    reasons = {
        each["parameters"]["sharing"]: each["reason"]
        for each in refusals(built_in()["shared"], Shared, ["asyncio"], load_choices(Shared), None)
        if each["model"] == "threads"
    }
    assert set(reasons) == set(OF_ONE_LOOP)
    for sharing, (name, instead) in OF_ONE_LOOP.items():
        assert reasons[sharing].startswith(f"an {name} is for the tasks of one loop")
        assert reasons[sharing].endswith(f"Use {instead}")
    assert set(RUNGS) == set(get_args(Rung))
    assert set(OF_ONE_LOOP) == set(get_args(OfOneLoop))
