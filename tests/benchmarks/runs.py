"""Runs one cell as the driver does, with the interpreter that runs the benchmarks."""

import math
import random
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from scaling.analysis.table.ticks import throughputs
from scaling.journal.record import Record
from scaling.run import child
from scaling.run.alternation import in_turn
from scaling.run.child import Ending
from scaling.run.waits import RATE_PER_S
from tests.benchmarks.bare_loop import WARMUP_S
from tests.support.children import environment


@dataclass(frozen=True)
class Run:
    """A measured run, its record, and the monotonic ns at which it was asked for."""

    ending: Ending
    record: Record
    asked_ns: int

    @property
    def per_s(self) -> float:
        """Operations a second."""
        return float(throughputs([self.record])[0])

    @property
    def cpu_ns(self) -> float:
        """CPU time of an operation, over all workers; NaN where the system does not report it."""
        used = done = 0
        for worker in self.record.workers:
            first, *_, last = worker.ticks.cpu_ns or [None, None]
            if first is None or last is None:
                return math.nan
            used += last - first
            done += worker.ticks.operations[-1] - worker.ticks.operations[0]
        return used / done

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
    """Measure a cell with these environment variables; ends the program if that fails."""
    asked_ns = time.monotonic_ns()
    cell = {"workload": workload, "warmup_s": WARMUP_S, "window_s": window_s, "ticks": 20, **more}
    program = child.Child(sys.executable, environment(**(settings or {})))

    asked = child.Run(program, {**cell, "alternating": in_slices}, waits_per_s=waits_per_s)
    if in_slices:
        ((ending,), _) = in_turn(
            lambda _: [partial(child.observed, asked)], window_s, random.Random()
        )
    else:
        ending = child.run_child(asked)
    return Run(ending, measured(ending), asked_ns)


def measured(ending: Ending) -> Record:
    """The record of a run; ends the program if it has none."""
    if ending.outcome != "measured" or ending.record is None:
        raise SystemExit(f"{ending.outcome}\n{ending.stderr}")
    return ending.record
