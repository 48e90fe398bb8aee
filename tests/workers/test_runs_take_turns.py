"""Runs of a group are alive together and take turns: one works, the others are stopped."""

import asyncio
import itertools
import operator
import random
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import psutil
import pytest

from scaling.analysis.stacks import readings, stacks
from scaling.analysis.table.ticks import throughputs
from scaling.journal.record import Disturbance, Record
from scaling.machine.disturbance import MachineTimes, disturbance
from scaling.run import alternation
from scaling.run.child import Child, Ending, Run, run_child
from scaling.run.probe import cpu_s
from scaling.run.process_tree import Tree
from tests.support.children import Own, environment, faults_per_operation, record_of
from tests.support.serving import alternated, are_apart, nothing, spans, true_slices
from tests.support.waiting import is_gone, wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs("stops"),
]

MS = 1_000_000
WINDOW_S = 0.4
CONNECTIONS = 8
MODELS = ("threads", "processes", "forked", "interpreters")
CELL = {"workload": "echo", "workers": 2, "warmup_s": 0.05, "window_s": WINDOW_S, "ticks": 1}

# Counts what it does each ms, and writes down when it does nothing for long.
PLANTED = """
    @dataclass
    class Theirs(Workload):
        alone = None
        fault: Literal["none", "crash", "raise", "block", "fork"] = parameter("none", "")

        async def setup(self, worker: Worker) -> None:
            if self.fault == "fork" and not os.fork():
                os.setsid()
                for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGTSTP, signal.SIGCONT):
                    signal.signal(number, signal.SIG_IGN)
                if os.fork():
                    os._exit(0)
                with open(os.environ["ALIVE"], "a") as alive:
                    while True:
                        print(time.monotonic_ns(), os.getpid(), file=alive, flush=True)
                        time.sleep(0.005)

        async def run(self, worker: Worker) -> None:
            while worker.running:
                await asyncio.sleep(0.001)
                worker.operations += 1
                if worker.operations == 200 and self.fault == "crash":
                    os.kill(os.getpid(), signal.SIGSEGV)
                if worker.operations == 200 and self.fault == "raise":
                    raise RuntimeError("planted")
                if worker.operations == 200 and self.fault == "block":
                    time.sleep(3600)
    """


def together(
    cells: Iterable[Mapping[str, Any]], own: Own | None = None
) -> tuple[list[Ending], Disturbance]:
    """Runs of these cells; `own` has the workload of some."""
    whole = [{**CELL, **cell} for cell in cells]
    if own is None:
        return alternated(whole)
    return alternated(whole, own.folder, connections=None, **own.variables)


@pytest.fixture(scope="module")
def measured() -> list[Record]:
    """A group of all models."""
    endings, _ = together({"model": model} for model in MODELS)
    return [record_of(each) for each in endings]


def test_one_works_at_a_time(measured: list[Record]) -> None:
    assert are_apart(measured)


def test_the_order_turns_round(measured: list[Record]) -> None:
    turns = sorted((span, place) for place, record in enumerate(measured) for span in spans(record))
    places = [place for _, place in turns]
    rounds = list(itertools.batched(places, len(MODELS)))
    assert len(rounds) >= 3
    assert sorted(rounds[0]) == [0, 1, 2, 3]
    for one, other in itertools.pairwise(rounds):
        assert one == other[::-1]


def test_ticks_have_the_slices_alone(measured: list[Record]) -> None:
    """One slice follows the other at once, in every column."""
    for worker in (worker for record in measured for worker in record.workers):
        slices = true_slices(worker)
        true_ns = sum(closed - opened for opened, closed in slices)
        ticks = worker.ticks
        assert ticks.time_ns[-1] - ticks.time_ns[0] == true_ns
        assert true_ns / 1e9 > 0.5 * WINDOW_S
        assert true_ns < (slices[-1][1] - slices[0][0]) / 2  # four have their turns
        for column in (ticks.time_ns, ticks.operations, ticks.errors, ticks.bytes, ticks.cpu_ns):
            assert column is not None
            assert all((one or 0) <= (two or 0) for one, two in itertools.pairwise(column))
        assert ticks.cpu_ns is not None
        assert 0 < (ticks.cpu_ns[-1] or 0) - (ticks.cpu_ns[0] or 0) <= true_ns
        late = [ran - due for ran, due in zip(ticks.time_ns, ticks.instant_ns, strict=True)]
        assert min(late) > -2_000_000
        assert worker.use is not None
        # With what it waited while others had their turns, it would be four times as long.
        assert 0 <= (worker.use.run_queue_ns or 0) <= 2 * true_ns


def test_the_analysis_reads_them_as_any_other(measured: list[Record]) -> None:
    assert all(rate > 0 for rate in throughputs(measured))
    for stack in stacks(map(readings, measured)):
        assert (stack.steps > 0).all()
        ticks = [worker.ticks.time_ns for record in measured for worker in record.workers]
        counted_s = [(time_ns[-1] - time_ns[0]) / 1e9 for time_ns in ticks]
        assert stack.window_s.ravel() == pytest.approx(counted_s)


@pytest.mark.one_build
@pytest.mark.measures
@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_threads_that_share_the_gil_have_their_slices_in_common(loop: str) -> None:
    """One may wait for the GIL for longer than a slice, and does nothing meanwhile."""
    cell = {"workload": "compute", "loop": loop}
    endings, _ = together({**cell, "workers": workers} for workers in (1, 2))
    one, two = map(record_of, endings)
    opened_ns = [[opened for opened, _ in true_slices(worker)] for worker in two.workers]
    assert all(abs(first - second) <= 2 * MS for first, second in zip(*opened_ns, strict=True))
    assert all(worker.ticks.time_ns[0] - worker.ticks.instant_ns[0] <= MS for worker in two.workers)
    one_per_s, two_per_s = throughputs([one, two])
    assert two_per_s < 1.5 * one_per_s


@pytest.mark.one_build
def test_collections_count_in_slices_alone(own: Own) -> None:
    """Each operation collects once, in slices and outside; those inside are counted."""
    collecting = own.write("""
        import gc

        class Theirs(Workload):
            alone = None
            settle_s = 0.1

            async def run(self, worker: Worker) -> None:
                while worker.running:
                    gc.collect()
                    worker.operations += 1
                    await asyncio.sleep(0.002)
        """)
    cells = [{"workload": collecting, "model": each, "workers": 1} for each in MODELS[:2]]
    endings, _ = together(cells, own)
    for ending in endings:
        record = record_of(ending)
        (worker,) = record.workers
        process = worker.process or record.process
        done = worker.ticks.operations[-1] - worker.ticks.operations[0]
        slices = len(true_slices(worker))
        assert process.gc_collections == pytest.approx(done, abs=3 * slices)


@pytest.mark.one_build
def test_a_slice_opens_once_its_run_has_settled(own: Own) -> None:
    settling = own.write("""
        class Theirs(Workload):
            alone = None
            settle_s = 0.15

            async def run(self, worker: Worker) -> None:
                while worker.running:
                    await asyncio.sleep(0.001)
                    worker.operations += 1
        """)
    cells = [{"workload": settling, "model": "processes", "window_s": 0.2}] * 2
    endings, _ = together(cells, own)
    every = sorted(span for ending in endings for span in spans(record_of(ending)))
    assert len(every) >= 4
    for (_, closed), (opened, _) in itertools.pairwise(every):
        assert opened - closed >= 150 * MS


HELD_UP = """
    from workers.worker.meter import Meter

    opened, openings = Meter.open, []

    def open_and_block(self, instant_ns, **more):
        openings.append(instant_ns)
        if len(openings) == 3:
            asyncio.get_running_loop().call_soon(time.sleep, 0.3)
        return opened(self, instant_ns, **more)

    Meter.open = open_and_block

    class Theirs(Workload):
        alone = None

        async def run(self, worker: Worker) -> None:
            while worker.running:
                await asyncio.sleep(0.001)
                worker.operations += 1
    """


@pytest.mark.one_build
def test_every_turn_is_a_slice_however_late_it_closes(
    own: Own, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop of one run is held up for 0.3 s as soon as its third slice is open."""
    given: list[Mapping[str, Any]] = []
    give = alternation.Member.give

    async def note(member: alternation.Member[Any], order: dict[str, Any]) -> None:
        if "slice_s" in order:
            given.append(order)
        await give(member, order)

    monkeypatch.setattr(alternation.Member, "give", note)
    held_up_one = {"workload": own.write(HELD_UP), "workers": 1}
    endings, _ = together([held_up_one, {"workers": 1}], own)
    held_up, other = (record_of(each).workers[0] for each in endings)
    opened, closed = true_slices(held_up)[2]
    assert closed - opened >= 300 * MS
    for worker in (held_up, other):
        slices, ticks = true_slices(worker), worker.ticks
        assert 2 * len(slices) == len(given)
        assert 2 * (len(ticks.time_ns) - 1) == sum(order["parts"] for order in given)
        true_ns = sum(closed - opened for opened, closed in slices)
        assert ticks.time_ns[-1] - ticks.time_ns[0] == true_ns


LOSSES = """
    import mmap

    @dataclass
    class Theirs(Workload):
        alone = None
        loss: Literal["none", "idle", "blocked", "faults"] = parameter("none", "")

        async def run(self, worker: Worker) -> None:
            while worker.running:
                until = time.monotonic() + 0.001
                while time.monotonic() < until:
                    pass
                if self.loss == "idle":
                    await asyncio.sleep(0.009)
                if self.loss == "blocked":
                    time.sleep(0.009)
                if self.loss == "faults":
                    with mmap.mmap(-1, 256 * 4096) as fresh:
                        for page in range(0, len(fresh), 4096):
                            fresh[page] = 1
                worker.operations += 1
                await asyncio.sleep(0)
    """


def share(ending: Ending, *calls: str) -> float:
    """The part of the samples in which the worker was found in these calls."""
    assert ending.waits is not None
    (found,) = ending.waits.calls
    return sum(found.get(each, 0) for each in calls) / sum(found.values())


@pytest.mark.one_build
def test_a_planted_loss_is_found_in_slices_as_in_one_window(own: Own) -> None:
    """Waiting for the poll, waiting in a call, and page faults: of each about as much both ways.

    Waits are sampled in slices alone, which are a second in all.
    """
    workload = own.write(LOSSES)
    alone = {"workload": workload, "workers": 1, "warmup_s": 0.0, "window_s": 1.0}
    cells = [
        {**CELL, **alone, "parameters": {"loss": loss}}
        for loss in ("none", "idle", "blocked", "faults")
    ]
    child = Child(sys.executable, environment(own.folder))
    with ThreadPoolExecutor() as at_once:
        one_window = list(at_once.map(run_child, (Run(child, cell) for cell in cells)))
    in_slices, _ = together(cells, own)
    for endings in (one_window, in_slices):
        none, idle, blocked, faults = endings
        assert share(none, "epoll_wait", "clock_nanosleep") < 0.1
        assert share(idle, "epoll_wait") > 0.2  # nine tenths, were the machine quiet
        assert share(blocked, "clock_nanosleep") > 0.2
        assert faults_per_operation(record_of(faults)) == pytest.approx(256, rel=0.1)
        assert faults_per_operation(record_of(none)) < 10
        for each in endings:
            assert each.waits
            assert sum(each.waits.calls[0].values()) <= 3 * max(each.waits.rate_per_s, 30.0)


@pytest.mark.one_build
def test_others_of_the_group_are_no_other_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs that use all CPUs in turn: what others took is less than what they used, and all
    that they used from the first slice to the last one is theirs.
    """
    used_s: list[float] = []
    ours_s: list[float] = []
    take_slices = alternation._take_slices

    def of_all_s() -> float:
        return cpu_s(psutil.Process().children(recursive=True))

    async def take(order: list[alternation.Member[Any]], window_s: float) -> None:
        before_s = of_all_s()  # all are stopped, as they are in the end
        await take_slices(order, window_s)
        used_s.append(of_all_s() - before_s)

    def seen_by(before: MachineTimes, after: MachineTimes, ours_cpu_s: float) -> Disturbance:
        ours_s.append(ours_cpu_s)
        return disturbance(before, after, ours_cpu_s)

    monkeypatch.setattr(alternation, "_take_slices", take)
    monkeypatch.setattr(alternation, "disturbance", seen_by)
    cells = [{"workload": "compute", "model": "processes"}] * 2
    before = psutil.cpu_times()
    endings, seen = together(cells)
    after = psutil.cpu_times()
    assert all(record_of(each) for each in endings)
    assert all((each.out_of_turn_cpu_s or 0.0) < 0.25 * WINDOW_S for each in endings)
    assert seen.other_cpu_fraction is not None
    busy_s = (sum(after) - after.idle) - (sum(before) - before.idle)
    assert seen.other_cpu_fraction * (sum(after) - sum(before)) < busy_s
    assert ours_s[-1] >= 0.98 * used_s[-1] > 0


@pytest.mark.one_build
@pytest.mark.parametrize(
    ("fault", "outcome"), [("crash", "failed"), ("raise", "failed"), ("block", "timed-out")]
)
def test_one_that_fails_leaves_its_group(own: Own, fault: str, outcome: str) -> None:
    planted: dict[str, Any] = {
        "workload": own.write(PLANTED),
        "parameters": {"fault": fault},
        "model": "processes",
    }
    if fault == "block":
        planted["limit_s"] = 3.0
    endings, _ = together([{}, planted, {"model": "processes"}], own)
    assert [each.outcome for each in endings] == ["measured", outcome, "measured"]
    for each in (endings[0], endings[2]):
        assert len(spans(record_of(each))) >= 3


@pytest.mark.one_build
def test_a_limit_counts_the_own_time_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four runs take longer together than each of them may."""
    monkeypatch.setattr("scaling.run.child.LIMIT_S", 20.0)
    began = time.monotonic()
    endings, _ = together([{"workers": 1}] * 4)
    took_s = time.monotonic() - began
    assert sum(each.elapsed_s for each in endings) < took_s
    assert all(each.elapsed_s < took_s / 2 for each in endings)


@pytest.mark.one_build
def test_a_grandchild_that_ignores_signals_in_a_session_of_its_own_is_stopped_too(
    own: Own,
) -> None:
    alive = own.folder / "alive"
    own.variables["ALIVE"] = str(alive)
    forks = {"workload": own.write(PLANTED), "parameters": {"fault": "fork"}, "workers": 1}
    forks |= {"model": "processes"}
    endings, _ = together([forks, {"workers": 1}], own)
    theirs_, other = (spans(record_of(each)) for each in endings)
    lines = [line.split() for line in alive.read_text().splitlines()]
    stamps = [int(stamp) for stamp, _ in lines]
    inside = [
        sum(opened <= each <= closed for each in stamps)
        for opened, closed in (*theirs_[1:], *other[1:])
    ]
    assert min(len(theirs_), len(other)) > 1
    assert all(inside[: len(theirs_) - 1])
    assert not any(inside[len(theirs_) - 1 :])
    assert is_gone(int(lines[-1][1]))


def at_the_edges(record: Record, received: int) -> float:
    """By how much two sides may differ that both count all answers of a run in its slices.

    A client's slices open and close by the clock, those of a server's worker when its loop can take
    a tick, which on a busy machine is a tenth of a slice later: both count what happens in between
    at one of their ends. An answer may also be sent in a slice and arrive after it, or before.
    """
    late_s: list[float] = []
    count = len(spans(record))
    for worker in record.workers:
        late_ns = sorted(map(operator.sub, worker.ticks.time_ns, worker.ticks.instant_ns))
        closing_s = sum(late_ns[-count:]) / 1e9  # at most
        took_s = sum(closed - opened for opened, closed in true_slices(worker)) / 1e9
        opening_s = closing_s + WINDOW_S - took_s
        late_s.append(closing_s + opening_s)
    return received * max(late_s) / WINDOW_S + CONNECTIONS * count


@pytest.mark.one_build
def test_servers_are_loaded_in_turn() -> None:
    """`test_commands_take_turns.py` loads loops in threads in turn on 3.14t."""
    cells = [
        {"workload": "serve", "parameters": {"server": server}, "model": model}
        for server, model in (("tcp", "threads"), ("tcp", "processes"), ("aiohttp", "forked"))
    ]
    whole = [CELL | cell for cell in cells]
    endings, _ = alternated(whole, connections=CONNECTIONS)
    records = [record_of(each) for each in endings]
    assert are_apart(records)
    for ending, record in zip(endings, records, strict=True):
        (operations,) = (stack.done.sum() for stack in stacks([readings(record)]))
        load = ending.load
        assert load is not None
        assert load.errors == {}
        received = sum(window.received or 0 for window in load.windows)
        assert received == pytest.approx(operations, abs=at_the_edges(record, received))
        assert load.achieved_per_s == pytest.approx(throughputs([record])[0], rel=0.2)
        assert len(load.windows) == len(record.workers[0].ticks.time_ns) - 1
        assert load.unfinished.count == []  # what was in flight at the end of a slice is answered
        for worker in record.workers:  # between its slices a worker answers nothing
            counted = worker.ticks.operations[-1] - worker.ticks.operations[0]
            assert 0 < counted <= load.completed


def test_any_run_of_a_group_may_be_first() -> None:
    begun: list[int] = []

    async def run(number: int, turn: alternation.Member[int]) -> int:
        begun.append(number)
        while await turn.next({"late_ns": 0}):
            pass
        return number

    jobs = [partial(run, number) for number in range(3)]
    firsts = set()
    for seed in range(20):
        begun.clear()
        done, _ = asyncio.run(alternation._in_turn(jobs, 0.05, random.Random(seed)))
        assert done == [0, 1, 2]  # in the order in which they were asked for
        firsts.add(begun[0])
    assert firsts == {0, 1, 2}


def test_slices_are_longer_where_ticks_are_late() -> None:
    """A loop that is held up by 20 ms at a time is not measured in slices of 50 ms."""

    given = []

    class Slow(alternation.Member[None]):
        async def give(self, order: Mapping[str, Any]) -> None:
            given.append(order["slice_s"])
            self.late_s.append(0.02)

    asyncio.run(alternation._take_slices([Slow(nothing)], 1.0))
    assert given[0] == pytest.approx(0.05)
    assert given[-1] == pytest.approx(1.0 / alternation.FEWEST, rel=0.1)
    assert sum(given) == pytest.approx(1.0)


@pytest.mark.parametrize(("request_s", "last_s"), [(0.005, 0.05), (0.05, 0.25), (0.3, 0.3)])
def test_slices_are_longer_where_a_request_takes_long(request_s: float, last_s: float) -> None:
    """One after the other, and not for one that was held up."""
    given = []

    class Loaded(alternation.Member[None]):
        async def give(self, order: Mapping[str, Any]) -> None:
            given.append(order)

    quick, slow = Loaded(nothing), Loaded(nothing)
    quick.requests_s, slow.requests_s = [0.001], [request_s, 10.0]
    asyncio.run(alternation._take_slices([quick, slow], 1.0))
    assert given[0]["slice_s"] == pytest.approx(0.05)
    assert max(each["slice_s"] for each in given) == pytest.approx(last_s, rel=0.2)
    assert sum(each["slice_s"] for each in given) == pytest.approx(2.0)
    assert sum(each["parts"] for each in given) == pytest.approx(2 * 20, abs=5)
    for one, other in itertools.pairwise(given):
        assert other["slice_s"] < 3.1 * one["slice_s"]


def test_slices_open_at_each_part_of_a_request() -> None:
    waits_s = []

    class Loaded(alternation.Member[None]):
        async def give(self, order: Mapping[str, Any]) -> None:
            waits_s.append(order["wait_s"])

    loaded = Loaded(nothing)
    loaded.requests_s = [0.01]
    asyncio.run(alternation._take_slices([loaded], 1.0))
    ordered = [0.0, *sorted(waits_s), 0.01]
    assert all(0.0 <= each < 0.01 for each in waits_s)
    assert max(b - a for a, b in itertools.pairwise(ordered)) < 2 * 0.01 / len(waits_s)


def test_a_process_is_stopped_when_all_its_threads_are() -> None:
    code = """\
import threading, time
for _ in range(8):
    threading.Thread(target=time.sleep, args=(60,)).start()
print(flush=True)
while True:
    pass
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout
            process.stdout.readline()
            tree = Tree(process.pid, "none")
            tree.stop()
            used = psutil.Process(process.pid).cpu_times()
            time.sleep(0.1)
            assert psutil.Process(process.pid).cpu_times() == used
            tree.go_on()
            wait_until(lambda: psutil.Process(process.pid).cpu_times() != used)
        finally:
            process.kill()
