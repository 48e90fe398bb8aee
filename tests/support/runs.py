"""What runs leave behind, without measuring them: seeded, and shaped like real records.

The model is crude on purpose (so many operations per second at N = 1, so much gained by each
further core), so that a test can say what must come out.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import msgspec

from scaling.base.errors import UsageError
from scaling.base.models import is_mixed, model_of, workers_each
from scaling.builds.arms import parse_arm
from scaling.journal.record import (
    Cell,
    Disturbance,
    GilStates,
    Instants,
    Latency,
    LoopFacts,
    Memory,
    ProcessFacts,
    ReadBack,
    Record,
    RunLine,
    ServiceUse,
    Switch,
    ThreadUse,
    Ticks,
    Waits,
    WorkerRecord,
)

NS = 10**9
MIB = 1024 * 1024
STARTED_AT = datetime(2026, 11, 20, 18, 30, tzinfo=UTC)
STARTED_NS = 7_000_000_000_000
OPENED_NS = STARTED_NS + 620_000_000
RELEASED_NS = STARTED_NS + NS  # the workers of a finite run

RATES_PER_S = {"echo": 30_000.0, "scrape": 320.0, "compute": 21_000.0, "stream": 900.0}
PER_WORKER_MIB = {"threads": 1.3, "forked": 6.0}  # others: 21
LOOP_FACTORS = {"asyncio": 1.0, "uvloop": 1.35}
ARM_FACTORS = {"3.14": 0.45, "3.14+mimalloc": 1.08, "3.14t+gil": 1.0, "3.14t": 0.97}

type Change = Callable[[RunLine], RunLine]


@dataclass(frozen=True, kw_only=True, eq=False)
class RunModel:
    """How fast runs are, and on what machine. `noise` is the relative standard deviation of a run's
    throughput, `tick_noise` the unevenness of a worker's ticks.

    `speeds` gives what an (arm, model, N) does, in multiples of the workload's rate, in place of
    the crude model.
    """

    cores: int = 2
    logical: int = 2
    ticks: int = 20
    window_s: float = 2.0
    noise: float = 0.015
    tick_noise: float = 0.02
    speeds: Mapping[tuple[str, str, int], float] = field(default_factory=dict)

    def run(self, cell: Cell, rng: random.Random, *, block: int = 0, position: int = 0) -> RunLine:
        """One measured run of the cell without fault."""
        rate = RATES_PER_S.get(cell.workload, 1000.0) * LOOP_FACTORS.get(cell.loop, 1.0)
        place = (cell.arm, cell.model, cell.workers)
        rate *= self.speeds.get(place, ARM_FACTORS.get(cell.arm, 1.0) * self._speedup(cell))
        rate *= rng.gauss(1, self.noise)
        workers = [
            self._worker(cell, rng, index, rate / cell.workers) for index in range(cell.workers)
        ]
        process = _process(cell)
        each = workers_each(cell.model, cell.workers)
        if cell.model != "threads":  # of several threads in a process the first reads it back
            step = each if is_mixed(cell.model) else 1
            workers[::step] = [with_(worker, process=process) for worker in workers[::step]]
        workers = [with_(worker, thread=divmod(worker.index, each)) for worker in workers]
        resident = 24 * MIB + PER_WORKER_MIB.get(cell.model, 21.0) * MIB * cell.workers
        resident = round(resident * rng.gauss(1, 0.004))
        return RunLine(
            cell=cell,
            outcome="measured",
            block=block,
            position=position,
            at=f"{STARTED_AT + timedelta(hours=block, seconds=position):%Y-%m-%dT%H:%M:%SZ}",
            elapsed_s=self.window_s + 1.0,
            record=Record(
                schema=1,
                outcome="measured",
                process=process,
                loop=LoopFacts(name=cell.loop, class_=_loop_class(cell), version="3.14.7"),
                facts=promised(cell.arm).facts,
                instants_ns=Instants(
                    started=STARTED_NS,
                    imported=STARTED_NS + 150_000_000,
                    ready=OPENED_NS - 20_000_000,
                    opened=OPENED_NS,
                    closed=OPENED_NS + round(self.window_s * NS),
                ),
                workers=workers,
            ),
            exit_code=0,
            memory=Memory(
                baseline_rss_bytes=24 * MIB,
                rss_bytes=resident,
                pss_bytes=round(resident * 0.9),
                idle_pss_bytes=round(resident * 0.7) if cell.workload == "serve" else None,
                uss_bytes=round(resident * 0.8),
                peak_bytes=round(resident * 1.05),
                samples=8,
            ),
            disturbance=Disturbance(
                load_1m=0.5, steal_fraction=0.0, throttled_s=0.0, other_cpu_fraction=0.01
            ),
            services=(
                {"site": ServiceUse(rss_bytes=60 * MIB, cpu_s=0.8, busy_fraction=0.4)}
                if cell.workload == "scrape"
                else {}
            ),
        )

    def _speedup(self, cell: Cell) -> float:
        """What N workers reach, in workers' worth of throughput: the crude model itself."""
        n = cell.workers
        if cell.model == "threads" and not is_free(cell.arm):
            return 1.0 / (1 + 0.03 * (n - 1))
        cores = min(n, self.cores) * (1 - 0.008 * (min(n, self.cores) - 1))
        siblings = 0.3 * max(0, min(n, self.logical) - self.cores)
        beyond = 0.015 * max(0, n - self.logical)
        return cores + siblings - beyond

    def _worker(self, cell: Cell, rng: random.Random, index: int, rate: float) -> WorkerRecord:
        """A worker that does `rate` operations a second, evenly but for a little noise."""
        instants = _instants(self.window_s, self.ticks)
        times = [instant + rng.randint(20_000, 900_000) for instant in instants]
        done, previous = rate * 0.3, OPENED_NS - 300_000_000
        operations: list[int] = []
        for time in times:
            gained = rate * (time - previous) / 1e9 if operations else 0.0
            done += max(1.0, gained * rng.gauss(1, self.tick_noise))
            operations.append(round(done))
            previous = time
        share = min(1.0, self.logical / cell.workers)  # of a core
        is_fresh = "mimalloc" in cell.arm or is_free(cell.arm) or cell.arm == "3.14t+gil"
        faults = 0 if is_fresh else 4
        return WorkerRecord(
            index=index,
            in_flight=8,
            eager_tasks=promised(cell.arm).eager_tasks or False,
            own_code=promised(cell.arm).own_code or False,
            busy_from_ns=OPENED_NS - 250_000_000,
            busy_until_ns=times[-1] + 5_000_000,
            ticks=Ticks(
                instant_ns=list(instants),
                time_ns=times,
                operations=operations,
                errors=[0] * len(times),
                bytes=[count * 2048 for count in operations],
                cpu_ns=[round((time - OPENED_NS + 3e8) * 0.97 * share) for time in times],
                minor_faults=[900 + faults * count for count in operations],
            ),
        )


@cache
def promised(arm: str) -> ReadBack:
    """What an arm of that name promises; nothing of a name that is no arm."""
    try:
        return parse_arm(arm).expected
    except UsageError:
        return ReadBack()


@cache
def is_free(arm_name: str) -> bool:
    """Whether threads of the arm run without the GIL."""
    build, *settings = arm_name.split("+")
    return build.endswith("t") and "gil" not in settings


@cache
def _instants(window_s: float, ticks: int) -> tuple[int, ...]:
    step = round(window_s * NS / ticks)
    return tuple(OPENED_NS + step * k for k in range(ticks + 1))


def _process(cell: Cell) -> ProcessFacts:
    gil, read_back = not is_free(cell.arm), promised(cell.arm)
    return ProcessFacts(
        gil=GilStates(started=gil, imported=gil, opened=gil, closed=gil),
        allocator=read_back.allocator or "pymalloc",
        gc_enabled=read_back.gc_enabled is not False,
        gc_frozen=model_of(cell.model).forks,
        gc_threshold=read_back.gc_threshold or 2_000,
        switches=tuple(
            Switch(name=name, value=value) for name, value in read_back.switches.items()
        ),
        gc_collections=3,
        gc_pause_ns=1_200_000,
        context_items=0,
        os_threads=cell.workers + 1,
    )


def _loop_class(cell: Cell) -> str:
    """What the loop of a run reports as its class."""
    package = cell.loop.rpartition("/")[2]
    own = {"asyncio": "asyncio.unix_events._UnixSelectorEventLoop", "trio": "trio.run"}
    return promised(cell.arm).loop_class or own.get(package, f"{package}.Loop")


def with_[T: msgspec.Struct](line: T, **changes: Any) -> T:
    """The run with fields replaced; two underscores reach inside: `record__process__gil=…`."""
    for path, value in changes.items():
        head, _, rest = path.partition("__")
        inner = with_(getattr(line, head), **{rest: value}) if rest else value
        line = msgspec.structs.replace(line, **{head: inner})
    return line


def of_workers(run: RunLine, change: Callable[[WorkerRecord], WorkerRecord]) -> RunLine:
    """The run with each of its workers changed."""
    assert run.record is not None
    return with_(run, record__workers=[change(worker) for worker in run.record.workers])


def finite(
    took_s: Callable[[RunLine], float],
    operations: int = 1_000,
    figures: Callable[[RunLine], Mapping[str, float]] = lambda _: {},
    latency: Latency | None = None,
) -> Change:
    """Makes a finite run of a windowed one: each worker does `operations` in `took_s`.

    Its figures, and the latencies of its operations, are every worker's.
    """

    def changed(run: RunLine) -> RunLine:
        finished_ns = RELEASED_NS + round(took_s(run) * NS)
        workers = [
            WorkerRecord(
                index=index,
                ticks=Ticks(
                    instant_ns=[RELEASED_NS, finished_ns],
                    time_ns=[RELEASED_NS + 1_000, finished_ns],
                    operations=[0, operations],
                    errors=[0, 0],
                    bytes=[0, 0],
                    cpu_ns=[0, (finished_ns - RELEASED_NS) // 2],
                    minor_faults=[0, operations],
                ),
                released_ns=RELEASED_NS,
                started_ns=RELEASED_NS + 1_000,
                finished_ns=finished_ns,
                figures=dict(figures(run)),
                latency=latency,
            )
            for index in range(run.cell.workers)
        ]
        return with_(run, record__finite=True, record__workers=workers)

    return changed


def with_readings(run: RunLine) -> RunLine:
    """The run with readings of where its workers' time went: they seldom wait, the more the more
    there are.
    """
    if run.record is None:
        return run
    n = run.cell.workers

    def read(worker: WorkerRecord) -> WorkerRecord:
        assert worker.ticks.cpu_ns
        cpu_ns = worker.ticks.cpu_ns[-1] or 0
        use = ThreadUse(
            user_ns=round(cpu_ns * 0.7),
            system_ns=round(cpu_ns * 0.3),
            run_queue_ns=0,
            collector_ns=round(cpu_ns * 0.01),
        )
        return with_(worker, use=use)

    calls = {"futex": min(60, n), "epoll_wait": 6, "running": 134}
    waits = Waits(source="wchan", rate_per_s=100.0, calls=[calls] * n)
    return with_(of_workers(run, read), waits=waits)


def with_speed(run: RunLine, factor: float) -> RunLine:
    """The run with so many times its operations in the same time."""
    return of_workers(
        run,
        lambda worker: with_(
            worker, ticks__operations=[round(done * factor) for done in worker.ticks.operations]
        ),
    )


def crashed(run: RunLine) -> RunLine:
    """The run as one whose child died."""
    return with_(run, outcome="crashed", record=None, exit_code=1)


def throttled(run: RunLine) -> RunLine:
    """The run on a machine that held it back, so that it is invalid."""
    return with_(run, disturbance__throttled_s=0.5)


def changing(**changes: Any) -> Change:
    """Replaces fields of every run, as `with_` does."""
    return lambda run: with_(run, **changes)


def changing_ticks(change: Callable[[Ticks], Ticks]) -> Change:
    """Changes the ticks of every worker."""
    return lambda run: of_workers(run, lambda worker: with_(worker, ticks=change(worker.ticks)))


def keeping_memory(run: RunLine) -> RunLine:
    """The run of processes that keep their memory: they map none anew in the window, as the others
    of glibc's malloc do.
    """
    return changing_ticks(lambda its: with_(its, minor_faults=[900] * len(its.time_ns)))(run)
