"""Runs of a group are alive together and take turns: one works, the others are stopped."""

import asyncio
import itertools
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import psutil
import pytest

from scaling.analysis.stacks import readings, stacks
from scaling.analysis.table.ticks import throughputs
from scaling.journal.record import Disturbance, Record
from scaling.machine.disturbance import MachineTimes, disturbance
from scaling.run import alternation
from scaling.run.child import Ending
from scaling.run.probe import cpu_s
from scaling.run.process_tree import Tree
from tests.support.children import Own, faults_per_operation, record_of
from tests.support.serving import alternated, are_apart, nothing, spans, true_slices
from tests.support.waiting import is_gone, wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs("stops"),
]

MS = 1_000_000
WINDOW_S = 0.4
MODELS = ("threads", "processes", "forked", "interpreters")
CELL = {"workload": "echo", "workers": 2, "warmup_s": 0.05, "window_s": WINDOW_S, "ticks": 1}

# Counts what it does each ms, and writes down when it does nothing for long.
PLANTED = """
    @dataclass
    class Theirs(Workload):
        alone = None
        fault: Literal["none", "crash", "block", "fork"] = parameter("none", "")

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
    """A group of all models. The time of each, for which there is a limit, is its own alone."""
    began = time.monotonic()
    endings, _ = together({"model": model} for model in MODELS)
    took_s = time.monotonic() - began
    assert sum(each.elapsed_s for each in endings) < took_s
    assert all(each.elapsed_s < took_s / 2 for each in endings)
    return [record_of(each) for each in endings]


def test_one_works_at_a_time_and_the_order_turns_round(measured: list[Record]) -> None:
    assert are_apart(measured)
    turns = sorted((span, place) for place, record in enumerate(measured) for span in spans(record))
    places = [place for _, place in turns]
    rounds = list(itertools.batched(places, len(MODELS)))
    assert len(rounds) >= 3
    assert sorted(rounds[0]) == [0, 1, 2, 3]
    for one, other in itertools.pairwise(rounds):
        assert one == other[::-1]


def test_ticks_have_the_slices_alone(measured: list[Record]) -> None:
    """One slice follows the other at once, in every column, and the analysis reads them so."""
    workers = [worker for record in measured for worker in record.workers]
    counted_ns = [worker.ticks.time_ns[-1] - worker.ticks.time_ns[0] for worker in workers]
    assert len({len(true_slices(worker)) for worker in workers}) == 1
    for worker, counted in zip(workers, counted_ns, strict=True):
        slices, ticks = true_slices(worker), worker.ticks
        true_ns = sum(closed - opened for opened, closed in slices)
        assert counted == true_ns
        assert true_ns / 1e9 > 0.5 * WINDOW_S
        assert true_ns < (slices[-1][1] - slices[0][0]) / 2  # four have their turns
        for column in (ticks.time_ns, ticks.operations, ticks.errors, ticks.bytes, ticks.cpu_ns):
            assert column is not None
            assert all((one or 0) <= (two or 0) for one, two in itertools.pairwise(column))
        assert ticks.cpu_ns is not None
        assert 0 < (ticks.cpu_ns[-1] or 0) - (ticks.cpu_ns[0] or 0) <= true_ns
        late = [ran - due for ran, due in zip(ticks.time_ns, ticks.instant_ns, strict=True)]
        assert min(late) > -2 * MS
        assert worker.use is not None
        # With what it waited while others had their turns, it would be four times as long.
        assert 0 <= (worker.use.run_queue_ns or 0) <= 2 * true_ns
    assert all(rate > 0 for rate in throughputs(measured))
    (*_, stack) = stacks(map(readings, measured))
    assert stack.window_s.ravel() == pytest.approx([each / 1e9 for each in counted_ns])


@pytest.mark.one_build
@pytest.mark.measures
def test_threads_that_share_the_gil_have_their_slices_in_common() -> None:
    """One may wait for the GIL for longer than a slice, and does nothing meanwhile."""
    endings, _ = together({"workload": "compute", "workers": workers} for workers in (1, 2))
    one, two = map(record_of, endings)
    opened_ns = [[opened for opened, _ in true_slices(worker)] for worker in two.workers]
    assert all(abs(first - second) <= 2 * MS for first, second in zip(*opened_ns, strict=True))
    assert all(worker.ticks.time_ns[0] - worker.ticks.instant_ns[0] <= MS for worker in two.workers)
    one_per_s, two_per_s = throughputs([one, two])
    assert two_per_s < 1.5 * one_per_s


@pytest.mark.one_build
def test_a_slice_opens_once_its_run_has_settled(own: Own) -> None:
    """And nothing that was collected before counts."""
    settling = own.write("""
        import gc

        class Theirs(Workload):
            alone = None
            settle_s = 0.15

            async def run(self, worker: Worker) -> None:
                gc.disable()  # those that are asked for are counted, and no others
                while worker.running:
                    await asyncio.sleep(0.001)
                    gc.collect(0)
                    worker.operations += 1
        """)
    cells = [
        {"workload": settling, "model": model, "window_s": 0.2}
        for model in ("threads", "processes")
    ]
    endings, _ = together(cells, own)
    every = sorted(span for ending in endings for span in spans(record_of(ending)))
    assert len(every) >= 4
    for (_, closed), (opened, _) in itertools.pairwise(every):
        assert opened - closed >= 150 * MS
    threads = record_of(endings[0])
    done = sum(each.ticks.operations[-1] - each.ticks.operations[0] for each in threads.workers)
    at_ends = 2 * sum(len(true_slices(each)) for each in threads.workers)
    assert 0 < (threads.process.gc_collections or 0) <= done + at_ends


LOSSES = """
    import mmap

    @dataclass
    class Theirs(Workload):
        alone = None
        loss: Literal["idle", "blocked", "faults"] = parameter("idle", "")

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
def test_a_planted_loss_is_found_in_slices(own: Own) -> None:
    """Waiting for the poll, waiting in a call, and page faults, as in one window.

    Waits are sampled in slices alone, which are 0.6 s in all.
    """
    cell = {"workload": own.write(LOSSES), "workers": 1, "warmup_s": 0.0, "window_s": 0.6}
    losses = ("idle", "blocked", "faults")
    endings, _ = together([{**cell, "parameters": {"loss": each}} for each in losses], own)
    idle, blocked, faults = endings
    assert share(idle, "epoll_wait") > 0.2  # nine tenths, were the machine quiet
    assert share(blocked, "clock_nanosleep") > 0.2
    assert share(faults, "epoll_wait", "clock_nanosleep") < 0.1
    assert faults_per_operation(record_of(faults)) == pytest.approx(256, rel=0.1)
    assert faults_per_operation(record_of(idle)) < 10
    for each in endings:
        assert each.waits
        assert sum(each.waits.calls[0].values()) <= 2 * max(each.waits.rate_per_s, 30.0)


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
def test_those_that_fail_leave_their_group(own: Own) -> None:
    planted: dict[str, Any] = {"workload": own.write(PLANTED), "model": "processes"}
    crash, block = ({**planted, "parameters": {"fault": each}} for each in ("crash", "block"))
    cells = [{}, crash, {**block, "limit_s": 2.0}, {"model": "processes"}]
    endings, _ = together(cells, own)
    outcomes = [each.outcome for each in endings]
    assert outcomes == ["measured", "failed", "timed-out", "measured"]
    for each in (endings[0], endings[3]):
        assert len(spans(record_of(each))) >= 3


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


def test_turns_go_round_in_the_order_that_was_asked_for() -> None:
    turns: list[int] = []

    async def run(number: int, turn: alternation.Member[int]) -> int:
        while await turn.next({"late_ns": 0}):
            turns.append(number)
        return number

    jobs = [partial(run, number) for number in (2, 0, 1)]
    done, _ = asyncio.run(alternation._in_turn(jobs, 0.2))
    assert done == [2, 0, 1]
    assert turns[:9] == [2, 0, 1, 1, 0, 2, 2, 0, 1]


def test_what_a_run_uses_out_of_turn_is_not_its_own() -> None:
    """Its services may work on while others have their turn, which disturbs these."""
    used_s = 0.0
    tree = SimpleNamespace(pids=(), look=lambda: None)

    async def run(turn: alternation.Member[None]) -> None:
        nonlocal used_s
        turn.started(cast(Tree, tree), lambda: used_s)
        while await turn.next({"late_ns": 0, "served": True}):
            used_s += 1.0

    async def have_turns() -> alternation.Member[None]:
        nonlocal used_s
        member = alternation.Member(run)
        for order in ({}, {"slice_s": 0.1}, {"slice_s": 0.1}):
            await member.give(order)
            used_s += 0.25
        await member.end()
        return member

    member = asyncio.run(have_turns())
    assert (member.used_s, member.out_of_turn_s) == (2.0, 0.5)


class Loaded(alternation.Member[None]):
    """A run that keeps its orders; `late` has been held up in each slice."""

    late = False

    async def give(self, order: Mapping[str, Any]) -> None:
        self.orders = [*getattr(self, "orders", []), order]
        self.late_s += [0.02] * self.late

    @property
    def slices_s(self) -> list[float]:
        return [each["slice_s"] for each in self.orders]


def test_slices_are_longer_where_ticks_are_late() -> None:
    """A loop that is held up by 20 ms at a time is not measured in slices of 50 ms."""
    slow = Loaded(nothing)
    slow.late = True
    asyncio.run(alternation._take_slices([slow], 1.0))
    assert slow.slices_s[0] == pytest.approx(0.05)
    assert slow.slices_s[-1] == pytest.approx(1.0 / alternation.FEWEST, rel=0.1)
    assert sum(slow.slices_s) == pytest.approx(1.0)


@pytest.mark.parametrize(("request_s", "last_s"), [(0.01, 0.05), (0.05, 0.25), (0.3, 0.3)])
def test_slices_are_longer_where_a_request_takes_long(request_s: float, last_s: float) -> None:
    """One after the other; one that was held up is no reason. They open at each part of it."""
    quick, slow = Loaded(nothing), Loaded(nothing)
    quick.requests_s, slow.requests_s = [0.001], [request_s, 10.0]
    asyncio.run(alternation._take_slices([quick, slow], 1.0))
    assert slow.slices_s[0] == pytest.approx(0.05)
    assert max(slow.slices_s) == pytest.approx(last_s, rel=0.2)
    assert sum(slow.slices_s) == pytest.approx(1.0)
    assert sum(each["parts"] for each in slow.orders) == pytest.approx(20, abs=5)
    assert all(b < 3.1 * a for a, b in itertools.pairwise(slow.slices_s))
    waits_s = [0.0, *sorted(each["wait_s"] for each in slow.orders), request_s]
    assert max(b - a for a, b in itertools.pairwise(waits_s)) < 2 * request_s / len(slow.orders)


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


def test_one_that_starts_while_others_are_stopped_is_stopped_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sleeping = ["sleep", "60"]
    with subprocess.Popen(sleeping) as one, subprocess.Popen(sleeping) as new:
        tree = Tree(one.pid, "none")
        found = iter([{one.pid}, {one.pid, new.pid}, {one.pid, new.pid}])
        monkeypatch.setattr(tree, "_found", lambda: next(found))
        tree.stop()
        states = [psutil.Process(each.pid).status() for each in (one, new)]
        for each in (one, new):
            each.kill()
    assert states == [psutil.STATUS_STOPPED] * 2
