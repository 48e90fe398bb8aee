"""Makes journals of served runs without measuring: queues whose capacity is known.

Each worker is an M/M/1 queue with an equal share of the arrivals, so the latency of a request is
exponential with mean 1 / (μ - λ/N), and the capacity at an objective can be written down. Beyond
its capacity a server falls behind for as long as the window is.
"""

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from scaling.analysis.table.load import Journal, read_journal
from scaling.journal.record import (
    Cell,
    Latency,
    Line,
    Load,
    ParameterValue,
    RunLine,
    Spans,
    SubWindow,
    Ticks,
    WorkerRecord,
    WorkloadNote,
)
from scaling.study.plan.aa_pairs import repeats_of
from tests.support.fabricate import Made, region, run_line, study_line, with_, write

SUB_WINDOWS = 20
NS = 10**9

type Times = npt.NDArray[np.float64]  # s


@dataclass(frozen=True)
class Served:
    """What to fabricate: every (arm, model) at every N, rate and block; rate 0 is a closed loop.

    `speeds` are the requests/s that one worker of an (arm, model) can answer (μ), 1,000 for those
    not named. `noise` is the relative standard deviation of a run's μ. CPU times are per request;
    the server's is 0.9 / μ, and the generator is as busy as its own says, unless they are given.
    """

    name: str = "served"
    configurations: Sequence[tuple[str, str]] = (("3.14t", "threads"), ("3.14", "processes"))
    speeds: Mapping[tuple[str, str], float] = field(default_factory=dict)
    workers: Sequence[int] = (1, 2)
    rates: Sequence[float] = (200.0, 400.0, 800.0)
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)
    blocks: int = 3
    window_s: float = 10.0
    noise: float = 0.01
    connections: int = 16
    generator_cpu_s: float = 15e-6
    server_cpu_s: float | None = None
    slip_s: float = 20e-6
    busy_fraction: float | None = None
    cores: int = 8
    seed: int = 1
    aa_pairs: bool = False

    def speed(self, cell: Cell) -> float:
        """Requests/s of one worker."""
        return self.speeds.get((cell.arm, cell.model), 1_000.0)

    def capacity_per_s(
        self, configuration: tuple[str, str], workers: int, limit_s: float, share: float = 0.99
    ) -> float:
        """The rate at which the percentile `share` of all workers' requests is `limit_s`."""
        return workers * (self.speeds.get(configuration, 1_000.0) + math.log(1 - share) / limit_s)


def journal(served: Served, change: Callable[[RunLine], RunLine] | None = None) -> list[Line]:
    """The study line and one run per cell and block, in a seeded random order."""
    rng, draws = random.Random(served.seed), np.random.default_rng(served.seed)
    made = _made(served)
    note = WorkloadNote(operation="requests", in_flight="connections", served=True, services=[])
    lines: list[Line] = [with_(study_line(made), workloads={"serve": note})]
    for block in range(served.blocks):
        cells = list(cells_of(served))
        cells += repeats_of(cells) if served.aa_pairs else ()
        rng.shuffle(cells)
        for position, cell in enumerate(cells):
            run = run_line(made, cell, rng, block=block, position=position)
            run = loaded(served, run, draws)
            lines.append(change(run) if change else run)
    return lines


def studied(
    folder: Path, served: Served, change: Callable[[RunLine], RunLine] | None = None
) -> Journal:
    """A fabricated study, written to `folder` and read back."""
    folder.mkdir(parents=True, exist_ok=True)
    return read_journal(write(journal(served, change), folder / "journal.jsonl"))


def cells_of(served: Served) -> Iterable[Cell]:
    """One for each configuration, N and rate."""
    made = _made(served)
    for rate in served.rates:
        for arm, model in served.configurations:
            for n in served.workers:
                yield Cell(
                    workload="serve",
                    parameters={
                        "connections": served.connections,
                        "rate_per_s": rate,
                        "arrivals": "poisson",
                        "keep_alive": True,
                        "accept": "port",
                        "server": "tcp",
                        **served.parameters,
                    },
                    loop="asyncio",
                    arm=arm,
                    model=model,
                    workers=n,
                    region=region(n, made),
                )


def loaded(served: Served, run: RunLine, draws: np.random.Generator) -> RunLine:
    """The run with the load of its cell, and workers that answered it."""
    cell = run.cell
    rate = float(cell.parameters["rate_per_s"] or 0.0)
    speed = served.speed(cell) * draws.normal(1, served.noise)
    possible = speed * cell.workers
    if rate:
        count = int(draws.poisson(rate * served.window_s))
        latency_s = _waits(served, draws, count, rate, possible, cell.workers)
        came_s = np.sort(draws.uniform(0, served.window_s, count))
        unfinished = came_s + latency_s > served.window_s
        so_far_s = np.minimum(latency_s, served.window_s - came_s)
    else:
        count = int(possible * served.window_s)
        in_flight = served.connections * cell.workers
        latency_s = draws.gamma(16, in_flight / possible / 16, count)
        came_s = np.sort(draws.uniform(0, served.window_s, count))
        unfinished, so_far_s = np.zeros(count, np.bool_), latency_s
    answered_s = latency_s[~unfinished]
    cpu_s = 0.9 / speed if served.server_cpu_s is None else served.server_cpu_s
    achieved = len(answered_s) / served.window_s
    load = Load(
        rate_per_s=rate or None,
        connections=served.connections * cell.workers,
        seed=run.block,
        timer="timerfd" if rate else None,
        offered=count,
        completed=len(answered_s),
        achieved_per_s=achieved,
        busy_fraction=served.generator_cpu_s * achieved
        if served.busy_fraction is None
        else served.busy_fraction,
        cpu_s=served.generator_cpu_s * count,
        latency=histogram(answered_s),
        unfinished=histogram(so_far_s[unfinished]),
        service=histogram(answered_s * 0.9),
        slip=histogram(draws.exponential(served.slip_s, count) if rate else np.zeros(0)),
        windows=_sub_windows(served, came_s[~unfinished], answered_s),
    )
    workers = [
        _answering(
            with_(worker, in_flight=served.connections),
            draws,
            achieved / cell.workers,
            served.window_s,
            cpu_s,
        )
        for worker in (run.record.workers if run.record else [])
    ]
    return with_(run, load=load, record__workers=workers)


def timed(run: RunLine) -> RunLine:
    """A run that is not served, with the latencies of its workers' operations."""
    workers = run.record.workers if run.record else []
    latency = histogram(np.linspace(0.001, 0.002, 100))
    changed = [with_(worker, latency=latency) for worker in workers]
    return with_(run, record__workers=changed) if changed else run


def histogram(times_s: Times) -> Latency:
    """Times in the layout of `workers.worker.handle`."""
    ns = np.maximum(times_s * NS, 0).astype(np.int64)
    _, bits = np.frexp(ns.astype(np.float64))
    shift = np.maximum(bits - 8, 0)
    edges, counts = np.unique((ns >> shift) << shift, return_counts=True)
    return Latency(value_ns=edges.tolist(), count=counts.tolist())


def _made(served: Served) -> Made:
    return Made(
        name=served.name,
        variants={"serve": []},
        arms=tuple(dict.fromkeys(arm for arm, _ in served.configurations)),
        models=tuple(dict.fromkeys(model for _, model in served.configurations)),
        workers=served.workers,
        blocks=served.blocks,
        cores=served.cores,
        logical=served.cores,
        ticks=SUB_WINDOWS,
        window_s=served.window_s,
        seed=served.seed,
    )


def _waits(
    served: Served,
    draws: np.random.Generator,
    count: int,
    rate: float,
    possible: float,
    workers: int,
) -> Times:
    """Latencies in order of arrival: stationary below capacity, rising beyond it."""
    if rate < possible:
        return draws.exponential(workers / (possible - rate), count)
    behind = np.linspace(0, served.window_s, count) * (rate / possible - 1)
    return np.asarray(behind + draws.exponential(workers / possible, count))


def _sub_windows(served: Served, came_s: Times, latency_s: Times) -> list[SubWindow]:
    place = (came_s / served.window_s * SUB_WINDOWS).astype(np.int64)
    found = []
    for k in range(SUB_WINDOWS):
        ns = (latency_s[place == k] * NS).astype(np.int64)
        if not len(ns):
            found.append(SubWindow())
            continue
        found.append(SubWindow(answered=len(ns), p50_ns=int(np.median(ns)), max_ns=int(ns.max())))
    return found


def _answering(
    worker: WorkerRecord, draws: np.random.Generator, rate: float, window_s: float, cpu_s: float
) -> WorkerRecord:
    """The worker with as many operations as it answered, at random in time."""
    ticks = worker.ticks
    step_s = window_s / (len(ticks.time_ns) - 1)
    gained = draws.poisson(rate * step_s, len(ticks.time_ns))
    operations = np.cumsum(gained)
    return with_(
        worker,
        ticks=Ticks(
            instant_ns=ticks.instant_ns,
            time_ns=ticks.time_ns,
            operations=operations.tolist(),
            errors=[0] * len(operations),
            bytes=[0] * len(operations),
            cpu_ns=[round(count * cpu_s * NS) for count in operations.tolist()],
            minor_faults=[900] * len(operations),
        ),
        figures={"connections_total": 16.0},
    )


def collecting(run: RunLine, every_s: float, pause_s: float) -> RunLine:
    """The run with a full collection every so often in each of its processes, which stops it: the
    ticks that were due in a pause run after it.
    """
    if run.record is None or run.record.instants_ns.opened is None:
        return run
    closed = run.record.instants_ns.closed or 0
    opened, pause = run.record.instants_ns.opened, round(pause_s * NS)
    starts = list(range(opened + round(every_s * NS / 2), closed, round(every_s * NS)))
    spans = Spans(start_ns=starts, pause_ns=[pause] * len(starts), generation=[2] * len(starts))

    def late(worker: WorkerRecord) -> WorkerRecord:
        times = worker.ticks.time_ns
        ends = [next((s + pause for s in starts if s <= at < s + pause), at) for at in times]
        process = worker.process and with_(
            worker.process, gc_spans=spans, gc_collections=len(starts)
        )
        return with_(worker, ticks__time_ns=ends, process=process)

    return with_(
        run,
        record__process=with_(run.record.process, gc_spans=spans, gc_collections=len(starts)),
        record__workers=[late(worker) for worker in run.record.workers],
    )
