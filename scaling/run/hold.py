"""One cell kept running for profilers that look at it from outside."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from scaling.base.errors import ScalingError
from scaling.journal.record import CeilingLine, Cell
from scaling.run.ceilings import generator_processes
from scaling.run.execute import Executor
from scaling.run.prepare import Prepared, generators_of, services_of
from scaling.run.probe import Phase
from scaling.run.progress import failure_of, figure_of, run_in_words
from scaling.study.plan.order import PlannedRun

NAMES = "/tmp/perf-{}.map"  # CPython's -X perf writes it, wherever temporary files are


def hold(
    ready: Prepared,
    ceilings: Sequence[CeilingLine],
    cell: Cell,
    seconds: float,
    started: Callable[[Sequence[int]], None],
) -> str:
    """Run a cell for `seconds` of its own window, and return its throughput in words.

    `started` is called with the ids of the processes that run its loops, before the window opens.
    Finite work is repeated until the time is over. Nothing is written to a journal. Until they end,
    the processes name their Python functions for perf in `NAMES`.

    Raises:
        ScalingError: a run failed.
    """
    arm = ready.arms[cell.arm]
    named = replace(arm, environment={**arm.environment, "PYTHONPERFSUPPORT": "1"})
    held = _Held(started)
    with services_of(ready) as services:
        processes = generator_processes(ready.plan, ceilings, ready.topology)
        generators = generators_of(ready, processes)
        execute = Executor(ready.plan, {cell.arm: named}, services, generators, [held])
        ends_s = time.monotonic() + seconds
        while True:
            try:
                line, _ = execute(PlannedRun(0, 0, cell))
            finally:
                for pid in held.pids:
                    Path(NAMES.format(pid)).unlink(missing_ok=True)
            if line.outcome != "measured":
                raise ScalingError(f"explain: {run_in_words(cell)}: {failure_of(line)}")
            if time.monotonic() >= ends_s:
                return figure_of(line, ready.plan.workloads[cell.workload])


class _Held:
    """Notes the processes of a run, and says when they are ready."""

    def __init__(self, started: Callable[[Sequence[int]], None]) -> None:
        self.pids: set[int] = set()
        self._started = started

    def at(self, phase: Phase) -> None:
        """Note who is there."""
        self.pids.update(phase.facts.get("pids", ()))
        if phase.name == "ready":
            self._started(list(dict.fromkeys(pid for pid, _ in phase.facts["threads"])))
