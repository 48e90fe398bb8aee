"""Runs one cell as the driver does, with the interpreter that runs the benchmarks."""

import math
import random
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scaling.journal.record import Record
from scaling.run.alternation import Member, in_turn
from scaling.run.child import Child, Ending, run_child
from scaling.run.waits import RATE_PER_S
from tests.benchmarks.bare_loop import WARMUP_S
from tests.support.children import environment


@dataclass(frozen=True)
class Run:
    """A measured run: how it ended, its record, and the monotonic ns at which it was asked for."""

    ending: Ending
    record: Record
    asked_ns: int

    @property
    def throughput_per_s(self) -> float:
        """Operations a second: the workers' added up, each between its own first and last tick.

        Of finite work: all operations, from the release to the last finish.
        """
        if self.record.finite:
            instants_ns = self.record.instants_ns
            assert instants_ns.opened is not None
            assert instants_ns.closed is not None
            done = sum(worker.ticks.operations[-1] for worker in self.record.workers)
            return done * 1e9 / (instants_ns.closed - instants_ns.opened)
        total = 0.0
        for worker in self.record.workers:
            ticks = worker.ticks
            operations = ticks.operations[-1] - ticks.operations[0]
            total += operations * 1e9 / (ticks.time_ns[-1] - ticks.time_ns[0])
        return total

    @property
    def cpu_ns_per_operation(self) -> float:
        """CPU time of an operation, over all workers; NaN where the system does not report it."""
        cpu_ns = operations = 0
        for worker in self.record.workers:
            first, *_, last = worker.ticks.cpu_ns or [None, None]
            if first is None or last is None:
                return math.nan
            cpu_ns += last - first
            operations += worker.ticks.operations[-1] - worker.ticks.operations[0]
        return cpu_ns / operations

    @property
    def start_s(self) -> float:
        """From asking for the child to its window, less the warm-up."""
        opened_ns = self.record.instants_ns.opened
        assert opened_ns is not None
        return (opened_ns - self.asked_ns) / 1e9 - WARMUP_S


def run(
    workload: str,
    window_s: float,
    *,
    settings: Mapping[str, str] | None = None,
    waits_per_s: float = RATE_PER_S,
    in_slices: bool = False,
    **more: Any,
) -> Run:
    """Measure a cell with these environment variables; all but a measured run is an error here."""
    asked_ns = time.monotonic_ns()
    cell = {"workload": workload, "warmup_s": WARMUP_S, "window_s": window_s, "ticks": 20, **more}
    child = Child(sys.executable, environment(**(settings or {})))

    def job(turn: Member[Ending] | None) -> Ending:
        document = {**cell, "alternating": turn is not None}
        return run_child(child, document, waits_per_s=waits_per_s, turn=turn)

    ending = in_turn([job], window_s, random.Random())[0][0] if in_slices else job(None)
    if ending.outcome != "measured" or ending.record is None:
        raise SystemExit(f"{workload}: {ending.outcome}\n{ending.stderr}")
    return Run(ending, ending.record, asked_ns)
