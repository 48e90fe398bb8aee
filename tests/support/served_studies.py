"""Fake studies of servers: queues whose capacity is known.

Each worker is an M/M/1 queue with an equal share of the arrivals, so the latency of a request is
exponential with mean 1 / (μ - λ/N), and the capacity at an objective can be written down. Beyond
its capacity a server falls behind for as long as the window is.
"""

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from scaling.journal.record import (
    Cell,
    Latency,
    Load,
    ParameterValue,
    RunLine,
    SubWindow,
    Ticks,
    WorkerRecord,
    WorkloadNote,
)
from tests.support.runs import NS, of_workers, with_
from tests.support.studies import FakeStudy

SUB_WINDOWS = 20
CONFIGURATIONS = (
    ("3.14", "processes"),
    ("3.14", "forked"),
    ("3.14+mimalloc", "processes"),
    ("3.14+mimalloc", "forked"),
    ("3.14t", "threads"),
)
"""Those of a study of an application."""

type Times = npt.NDArray[np.float64]  # s


@dataclass(frozen=True, kw_only=True, eq=False)
class FakeServedStudy(FakeStudy):
    """Every (arm, model) at every N, rate and block; rate 0 is a closed loop.

    `answers_per_s` are the requests/s that one worker of an (arm, model) can answer (μ), 1,000 for
    those not named. `speed_noise` is the relative standard deviation of a run's μ. CPU times are
    per request; the server's is 0.9 / μ, and the generator is as busy as its own says, unless they
    are given.
    """

    name: str = "served"
    configurations: Sequence[tuple[str, str]] = (("3.14t", "threads"), ("3.14", "processes"))
    workers: Sequence[int] = (1, 2)
    window_s: float = 10.0
    cores: int = 8
    logical: int = 8
    rates: Sequence[float] = (200.0, 400.0, 800.0)
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)
    answers_per_s: Mapping[tuple[str, str], float] = field(default_factory=dict)
    speed_noise: float = 0.01
    connections: int = 16
    generator_cpu_s: float = 15e-6
    server_cpu_s: float | None = None
    slip_s: float = 20e-6
    busy_fraction: float | None = None

    def capacity_per_s(
        self, configuration: tuple[str, str], workers: int, limit_s: float, share: float = 0.99
    ) -> float:
        """The rate at which the percentile `share` of all workers' requests is `limit_s`."""
        speed = self.answers_per_s.get(configuration, 1_000.0)
        return workers * (speed + math.log(1 - share) / limit_s)

    def _product(self) -> Iterator[Cell]:
        for rate in self.rates:
            asked: Mapping[str, ParameterValue] = {
                "connections": self.connections,
                "rate_per_s": rate,
                "arrivals": "poisson",
                "keep_alive": True,
                "accept": "port",
                "server": "tcp",
                **self.parameters,
            }
            for arm, model in self.configurations:
                for n in self.workers:
                    yield Cell(
                        workload="serve",
                        parameters=asked,
                        loop="asyncio",
                        arm=arm,
                        model=model,
                        workers=n,
                    )

    def _notes(self) -> dict[str, WorkloadNote]:
        return {"serve": WorkloadNote(operation="requests", in_flight="connections", served=True)}

    def _loaded(self, run: RunLine, draws: np.random.Generator) -> RunLine:
        """The run with the load of its cell, and workers that answered it."""
        cell = run.cell
        rate = float(cell.parameters["rate_per_s"] or 0.0)
        speed = self.answers_per_s.get((cell.arm, cell.model), 1_000.0)
        speed *= draws.normal(1, self.speed_noise)
        possible = speed * cell.workers
        if rate:
            count = int(draws.poisson(rate * self.window_s))
            latency_s = self._waits(draws, count, rate, possible, cell.workers)
            came_s = np.sort(draws.uniform(0, self.window_s, count))
            unfinished = came_s + latency_s > self.window_s
            so_far_s = np.minimum(latency_s, self.window_s - came_s)
        else:
            count = int(possible * self.window_s)
            in_flight = self.connections * cell.workers
            latency_s = draws.gamma(16, in_flight / possible / 16, count)
            came_s = np.sort(draws.uniform(0, self.window_s, count))
            unfinished, so_far_s = np.zeros(count, np.bool_), latency_s
        answered_s = latency_s[~unfinished]
        cpu_s = 0.9 / speed if self.server_cpu_s is None else self.server_cpu_s
        achieved = len(answered_s) / self.window_s
        busy_fraction = self.generator_cpu_s * achieved
        load = Load(
            rate_per_s=rate or None,
            connections=self.connections * cell.workers,
            seed=run.block,
            timer="timerfd" if rate else None,
            offered=count,
            completed=len(answered_s),
            achieved_per_s=achieved,
            busy_fraction=busy_fraction if self.busy_fraction is None else self.busy_fraction,
            cpu_s=self.generator_cpu_s * count,
            latency=histogram(answered_s),
            unfinished=histogram(so_far_s[unfinished]),
            service=histogram(answered_s * 0.9),
            slip=histogram(draws.exponential(self.slip_s, count) if rate else np.zeros(0)),
            windows=self._sub_windows(came_s[~unfinished]),
        )
        each_per_s = achieved / cell.workers
        return of_workers(
            with_(run, load=load), lambda worker: self._answering(worker, draws, each_per_s, cpu_s)
        )

    def _waits(
        self, draws: np.random.Generator, count: int, rate: float, possible: float, workers: int
    ) -> Times:
        """Latencies in order of arrival: stationary below capacity, rising beyond it."""
        if rate < possible:
            return draws.exponential(workers / (possible - rate), count)
        behind = np.linspace(0, self.window_s, count) * (rate / possible - 1)
        return np.asarray(behind + draws.exponential(workers / possible, count))

    def _sub_windows(self, came_s: Times) -> list[SubWindow]:
        """Of answered requests, by when they came."""
        place = (came_s / self.window_s * SUB_WINDOWS).astype(np.int64)
        return [
            SubWindow(answered=int(count)) for count in np.bincount(place, minlength=SUB_WINDOWS)
        ]

    def _answering(
        self, worker: WorkerRecord, draws: np.random.Generator, rate: float, cpu_s: float
    ) -> WorkerRecord:
        """The worker with as many operations as it answered, at random in time."""
        ticks = worker.ticks
        step_s = self.window_s / (len(ticks.time_ns) - 1)
        operations = np.cumsum(draws.poisson(rate * step_s, len(ticks.time_ns))).tolist()
        return with_(
            worker,
            in_flight=self.connections,
            ticks=Ticks(
                instant_ns=ticks.instant_ns,
                time_ns=ticks.time_ns,
                operations=operations,
                errors=[0] * len(operations),
                bytes=[0] * len(operations),
                cpu_ns=[round(count * cpu_s * NS) for count in operations],
                minor_faults=[900] * len(operations),
            ),
            figures={"connections_total": 16.0},
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class FakeAppStudy(FakeServedStudy):
    """A study of an application, at its peak and at 400 requests/s."""

    name: str = "app-shop"
    configurations: Sequence[tuple[str, str]] = CONFIGURATIONS
    blocks: int = 6
    window_s: float = 8.0
    rates: Sequence[float] = (0.0, 400.0)
    parameters: Mapping[str, ParameterValue] = field(default_factory=lambda: {"server": "loops"})
    options: Mapping[str, Any] = field(
        default_factory=lambda: {"application": {}, "controls": False}
    )

    def run(self, cell: Cell, rng: random.Random, *, block: int = 0, position: int = 0) -> RunLine:
        """One measured run of the application."""
        run = super().run(cell, rng, block=block, position=position)
        return with_(run, cell__workload="app")

    def _notes(self) -> dict[str, WorkloadNote]:
        (note,) = super()._notes().values()
        return {"app": note}


def timed(run: RunLine) -> RunLine:
    """A run that is not served, with the latencies of its workers' operations."""
    if run.record is None or not run.record.workers:
        return run
    latency = histogram(np.linspace(0.001, 0.002, 100))
    return of_workers(run, lambda worker: with_(worker, latency=latency))


def histogram(times_s: Times) -> Latency:
    """Times in the layout of `workers.worker.handle`."""
    ns = np.maximum(times_s * NS, 0).astype(np.int64)
    _, bits = np.frexp(ns.astype(np.float64))
    shift = np.maximum(bits - 8, 0).astype(np.int64)
    counts = np.bincount((shift << 8) + (ns >> shift))  # counted, since sorting takes far longer
    found = np.flatnonzero(counts)
    return Latency(value_ns=((found & 255) << (found >> 8)).tolist(), count=counts[found].tolist())
