"""All workers have one schedule, with a tick at each instant, whatever the loop's clock."""

import asyncio
import gc
import itertools
import selectors
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace

import pytest

from workers.cell import Cell, schedule
from workers.channel import Message
from workers.host.hosting import Host
from workers.loops import runner_for
from workers.outside.tree import Window
from workers.readback.gil import GilWatch
from workers.readback.process import Readback
from workers.worker.handle import Worker
from workers.worker.meter import Meter

pytestmark = pytest.mark.one_build

MS = 1_000_000
LOOPS_OWN_ZERO_S = 5_000.0  # a loop's clock need not begin where the monotonic one does


class Clock:
    """Time that passes only when somebody waits or works."""

    def __init__(self) -> None:
        self.now_s = 1_000.0
        self.cpu_ns = 7  # of the thread

    def monotonic(self) -> float:
        return self.now_s

    def monotonic_ns(self) -> int:
        return round(self.now_s * 1e9)

    def thread_time_ns(self) -> int:
        return self.cpu_ns

    def process_time_ns(self) -> int:
        return 7


class MachineSnapshot(selectors.SelectSelector):
    """Lets the clock pass instead of waiting; what is ready is ready at once."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._clock.now_s += timeout or 0.0
        return super().select(0)


class Timed(asyncio.SelectorEventLoop):
    """An asyncio loop on a clock of its own."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(MachineSnapshot(clock))
        self._clock = clock

    def time(self) -> float:
        return self._clock.now_s - LOOPS_OWN_ZERO_S


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    for module in ("workers.worker.meter", "workers.loops.on_asyncio"):
        monkeypatch.setattr(f"{module}.time", clock)
    return clock


def run(
    clock: Clock, instants_ns: list[int], after: Callable[[int], None] = lambda _: None
) -> list[tuple[int, int]]:
    """Take the ticks; return (due, taken) of each. `after` runs behind each of them."""
    taken: list[tuple[int, int]] = []

    def tick(instant_ns: int) -> None:
        taken.append((instant_ns, clock.monotonic_ns()))
        after(len(taken))

    ticks = runner_for("asyncio").take_ticks(instants_ns, tick)
    asyncio.run(ticks, loop_factory=lambda: Timed(clock))
    return taken


def test_schedule_cuts_the_window_into_equal_parts_and_ends_with_it_to_the_nanosecond() -> None:
    assert schedule(1_000, 1.0, 4) == [1_000, 250_001_000, 500_001_000, 750_001_000, 1_000_001_000]
    instants = schedule(0, 2.0, 7)
    assert (len(instants), instants[0], instants[-1]) == (8, 0, 2_000 * MS)
    steps = {after - before for before, after in itertools.pairwise(instants)}
    assert max(steps) - min(steps) <= 1


def test_each_tick_is_taken_at_its_instant_and_delays_do_not_add_up(clock: Clock) -> None:
    def work(_: int) -> None:
        clock.now_s += 0.03  # a callback that holds the loop up a little after every tick

    def hang(count: int) -> None:
        clock.now_s += 0.35 if count == 3 else 0.0  # over three of the following instants

    for after in (lambda _: None, work):
        instants = schedule(clock.monotonic_ns() + 20 * MS, 1.0, 10)
        taken = run(clock, instants, after)
        # The loop's resolution and floats with it: a microsecond at most.
        assert all(abs(at - due) <= 1_000 for due, at in taken)
        assert [due for due, _ in taken] == instants
    taken = run(clock, schedule(clock.monotonic_ns(), 1.0, 10), hang)
    late = [round((at - due) / MS) for due, at in taken]
    assert late == [0, 0, 0, 250, 150, 50, 0, 0, 0, 0, 0]
    instants = schedule(clock.monotonic_ns() - 3_000 * MS, 1.0, 4)  # in the past
    assert [due for due, _ in run(clock, instants)] == instants


def slices_of(
    clock: Clock, late_ms: Sequence[int], *, from_instant: bool = False
) -> tuple[dict[str, list[int | None]], dict[str, list[int]]]:
    """Columns and slices of a worker with slices of 100 ms that close so late; what it does between
    them counts nowhere. `from_instant`: of rounds, which are opened 5 ms after their release.
    """

    async def read() -> tuple[dict[str, list[int | None]], dict[str, list[int]]]:
        worker = Worker(0, 1, {})
        meter = Meter(worker, None)
        for late in late_ms:
            clock.now_s += 10
            clock.cpu_ns += 1_000 * MS
            worker.operations, worker.bytes = worker.operations + 1_000, worker.bytes + 5
            released_ns = clock.monotonic_ns() - 5 * MS * from_instant
            meter.open(released_ns, from_instant=from_instant)
            clock.now_s += (100 + late) / 1_000
            clock.cpu_ns += (50 + late) * MS
            worker.operations, worker.bytes = worker.operations + 3 + late, worker.bytes + 4
            meter.close(None if from_instant else clock.monotonic_ns() - late * MS)
        return meter.columns, meter.slices

    return asyncio.run(read())


def test_what_happens_between_slices_is_left_out_of_every_column(clock: Clock) -> None:
    """A tick closes a slice and opens the next one; late ones keep their time and their work."""
    columns, slices = slices_of(clock, [2, 300, 2])
    begun = columns["time_ns"][0]
    assert begun is not None
    assert columns["operations"] == [1_000, 1_005, 1_308, 1_313]
    assert columns["bytes"] == [5, 9, 13, 17]
    at_ms = [0, 102, 502, 604]
    assert columns["time_ns"] == [begun + each * MS for each in at_ms]
    assert columns["cpu_ns"] == [(columns["cpu_ns"][0] or 0) + k * MS for k in (0, 52, 402, 454)]
    late_ms = zip(at_ms, [0, 2, 300, 2], strict=True)
    assert columns["instant_ns"] == [begun + (at - late) * MS for at, late in late_ms]
    assert slices["opened_ns"] == [begun + k * MS for k in (0, 10_102, 20_502)]
    assert slices["closed_ns"] == [begun + k * MS for k in (102, 10_502, 20_604)]


def test_a_round_counts_from_its_release_however_late_it_is_opened(clock: Clock) -> None:
    columns, slices = slices_of(clock, [0, 0, 0], from_instant=True)
    released = columns["instant_ns"][0]
    assert released is not None
    assert columns["time_ns"] == [released + 5 * MS, *(released + 105 * k * MS for k in (1, 2, 3))]
    assert columns["operations"] == [1_000, 1_003, 1_006, 1_009]
    assert columns["bytes"] == [5, 9, 13, 17]
    opened_ns, closed_ns = slices["opened_ns"], slices["closed_ns"]
    assert [b - a for a, b in zip(opened_ns, closed_ns, strict=True)] == [105 * MS] * 3


def test_slices_of_a_command_are_joined_as_those_of_a_worker() -> None:
    """Its CPU time is brought to the instants, and what it used between slices is left out."""
    window = Window()
    for first in (0, 1_000):
        instants = [first, first + 50, first + 100]
        readings = [(each + 10, 2 * each) for each in instants]
        assert window.add(instants, readings) == 10
    worker = window.as_worker([4, 5, 6, 7])
    assert worker["ticks"]["instant_ns"] == [0, 50, 100, 150, 200]
    assert worker["ticks"]["operations"] == [0, 4, 9, 15, 22]
    assert worker["ticks"]["cpu_ns"] == [-20, 80, 180, 280, 380]
    assert window.slices == {"opened_ns": [0, 1_000], "closed_ns": [100, 1_100]}


def test_loops_that_are_late_have_more_time_before_a_slice_and_the_latest_decides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The driver makes slices longer by what it is told."""
    told: list[int] = []
    orders: list[Message] = []
    turns: Iterator[Message] = iter([{"wait_s": 0.0, "slice_s": 0.01, "parts": 1}] * 2 + [{}])
    late = [{"late_ns": ms * MS, "opened_late_ns": 30 * ms * MS} for ms in (1, 10)]

    def phase(_name: str, _pids: list[int], *, late_ns: int, served: bool) -> Message:
        assert not served
        told.append(late_ns)
        return next(turns)

    host = Host(Cell("compute", workers=2), Readback(GilWatch()), started_ns=0)
    monkeypatch.setattr(host, "_observer", SimpleNamespace(phase=phase))
    monkeypatch.setattr(host, "_order", orders.append)
    monkeypatch.setattr(host, "_await", lambda *_: late)
    host._slices([], None)
    assert told == [0, 10 * MS, 10 * MS]
    settled_ns = [each["instants_ns"][0] - each["begins_ns"] for each in orders]
    assert settled_ns == [20 * MS, 600 * MS]


def test_collections_between_slices_do_not_count_and_a_gil_of_the_last_one_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    states = iter([False, False, False, False, False, True])  # closed three times
    monkeypatch.setattr("workers.readback.process.gil_enabled", lambda: next(states))
    watch = GilWatch()
    readback = Readback(watch)
    readback.imported(collect=True, switches={})
    for _ in range(3):
        gc.collect()
        readback.opened()
        gc.collect()
        gc.collect()
        readback.closed()
    found = readback.result(debug=False)
    assert found["gc_collections"] == 6
    assert (found["gil"]["opened"], found["gil"]["closed"]) == (False, True)
    assert found["cpu_ns"] > 0
