"""All workers have one schedule, with a tick at each instant, whatever the loop's clock."""

import asyncio
import gc
import itertools
import selectors
from collections.abc import Callable

import pytest

from workers.host.hosting import schedule
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


def test_each_tick_is_taken_at_its_instant(clock: Clock) -> None:
    instants = schedule(clock.monotonic_ns() + 20 * MS, 1.0, 10)
    for due, taken in run(clock, instants):
        # The loop's resolution and floats with it: a microsecond at most.
        assert 0 <= taken - due + 1_000 <= 2_000
    assert [due for due, _ in run(clock, instants)] == instants


def test_delays_do_not_add_up_and_a_schedule_in_the_past_is_worked_off(clock: Clock) -> None:
    def work(_: int) -> None:
        clock.now_s += 0.03  # a callback that holds the loop up a little after every tick

    instants = schedule(clock.monotonic_ns(), 1.0, 10)
    assert max(taken - due for due, taken in run(clock, instants, work)) <= 1_000
    instants = schedule(clock.monotonic_ns() - 3_000 * MS, 1.0, 4)
    assert [due for due, _ in run(clock, instants)] == instants


def test_a_loop_held_up_catches_up(clock: Clock) -> None:
    instants = schedule(clock.monotonic_ns(), 1.0, 10)

    def hang(count: int) -> None:
        clock.now_s += 0.35 if count == 3 else 0.0  # over three of the following instants

    taken = run(clock, instants, hang)
    assert [due for due, _ in taken] == instants
    times = [time for _, time in taken]
    assert times == sorted(times)
    late = [round((time - due) / MS) for due, time in taken]
    assert late == [0, 0, 0, 250, 150, 50, 0, 0, 0, 0, 0]


def test_a_tick_is_one_reading_of_everything(clock: Clock) -> None:
    async def read() -> dict[str, list[int | None]]:
        worker = Worker(0, 1, {})
        meter = Meter(worker, None)
        meter.tick(1)
        worker.operations, worker.bytes = 3, 4
        worker.fail("this")
        clock.now_s += 1
        meter.tick(2)
        return meter.columns

    columns = asyncio.run(read())
    faults = columns.pop("minor_faults")
    assert columns == {
        "instant_ns": [1, 2],
        "time_ns": [1_000_000 * MS, 1_001_000 * MS],
        "operations": [0, 3],
        "errors": [0, 1],
        "bytes": [0, 4],
        "cpu_ns": [7, 7],
    }
    assert all(isinstance(count, int) for count in faults)


def test_what_happens_between_slices_is_left_out_of_every_column(clock: Clock) -> None:
    """The tick that closes a slice also opens the next one; lateness stays what it was."""

    async def read() -> tuple[dict[str, list[int | None]], dict[str, list[int]]]:
        worker = Worker(0, 1, {})
        meter = Meter(worker, None)
        for _ in range(3):
            worker.operations, worker.bytes = worker.operations + 1_000, worker.bytes + 5  # between
            clock.now_s += 10
            meter.open(clock.monotonic_ns())
            clock.now_s += 0.1
            worker.operations, worker.bytes = worker.operations + 3, worker.bytes + 4
            meter.close(clock.monotonic_ns() - 2 * MS)
        return meter.columns, meter.slices

    columns, slices = asyncio.run(read())
    begun = columns["time_ns"][0]
    assert begun is not None
    assert columns["operations"] == [1_000, 1_003, 1_006, 1_009]
    assert columns["bytes"] == [5, 9, 13, 17]
    assert columns["time_ns"] == [begun + 100 * k * MS for k in range(4)]
    late = [0, 2, 2, 2]
    assert columns["instant_ns"] == [begun + (100 * k - late[k]) * MS for k in range(4)]
    assert slices["opened_ns"] == [begun + 10_100 * k * MS for k in range(3)]
    assert slices["closed_ns"] == [opened + 100 * MS for opened in slices["opened_ns"]]


def test_a_slice_that_closes_late_is_kept_whole(clock: Clock) -> None:
    """However late: what its worker did until then, and the time of it, are in every column."""

    async def read() -> tuple[dict[str, list[int | None]], dict[str, list[int]]]:
        worker = Worker(0, 1, {})
        meter = Meter(worker, None)
        for late_ms in (0, 300, 0):
            clock.now_s += 10  # between
            clock.cpu_ns += 1_000 * MS
            meter.open(clock.monotonic_ns())
            clock.now_s += (100 + late_ms) / 1_000
            clock.cpu_ns += (50 + late_ms) * MS
            worker.operations += 3 + late_ms
            meter.close(clock.monotonic_ns() - late_ms * MS)
        return meter.columns, meter.slices

    def steps(column: list[int | None]) -> list[int]:
        return [(after or 0) - (before or 0) for before, after in itertools.pairwise(column)]

    columns, slices = asyncio.run(read())
    took_ns = [100 * MS, 400 * MS, 100 * MS]
    assert steps(columns["time_ns"]) == took_ns
    assert steps(columns["operations"]) == [3, 303, 3]
    assert steps(columns["cpu_ns"]) == [50 * MS, 350 * MS, 50 * MS]
    pairs = zip(slices["opened_ns"], slices["closed_ns"], strict=True)
    assert [closed - opened for opened, closed in pairs] == took_ns


def test_a_round_counts_from_its_release_however_late_it_is_opened(clock: Clock) -> None:
    async def read() -> tuple[dict[str, list[int | None]], dict[str, list[int]]]:
        worker = Worker(0, 1, {})
        meter = Meter(worker, None)
        for _ in range(3):
            clock.now_s += 10
            worker.bytes += 7  # before it is opened
            meter.open(clock.monotonic_ns() - 5 * MS, from_instant=True)
            clock.now_s += 0.1
            worker.operations += 3
            meter.close(None)
        return meter.columns, meter.slices

    columns, slices = asyncio.run(read())
    released = columns["instant_ns"][0]
    assert released is not None
    assert columns["time_ns"] == [released + 5 * MS, *(released + 105 * k * MS for k in (1, 2, 3))]
    assert columns["operations"] == [0, 3, 6, 9]
    assert columns["bytes"] == [7, 7, 7, 7]
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


def test_collections_between_slices_do_not_count() -> None:
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
    assert found["cpu_ns"] > 0
