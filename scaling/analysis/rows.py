"""Some runs, and their columns by name, each computed when it is first asked for."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from operator import attrgetter
from typing import Any

import numpy as np

from scaling.analysis.arrays import Flags, Integers
from scaling.analysis.stacks import Readings, Stack, readings, stacks
from scaling.journal.record import ArmRecord, ProcessFacts, Record, RunLine, StudyLine, WorkerRecord


class Rows:
    """Some runs and their `columns` (`scaling.analysis.column`).

    A column of numbers or flags is an array with a value for each of `runs`, another one a list.
    `ticks` are the runs' readings where their records do not have them.
    """

    def __init__(
        self,
        runs: Sequence[RunLine],
        study: StudyLine,
        columns: Mapping[str, Callable[["Rows"], Any]],
        ticks: Sequence[Readings | None] | None = None,
    ) -> None:
        self.runs = runs
        self.study = study
        self._columns = columns
        self._known: dict[str, Any] = {}
        self._readings = list(map(readings, self.records)) if ticks is None else ticks

    def __getitem__(self, name: str) -> Any:
        if name not in self._known:
            self._known[name] = self._columns[name](self)
        return self._known[name]

    @cached_property
    def records(self) -> list[Record | None]:
        """The record of each run's child, or None."""
        return [run.record for run in self.runs]

    @cached_property
    def has_load(self) -> bool:
        """True if a run was loaded from outside."""
        return any(run.load is not None for run in self.runs)

    @cached_property
    def has_services(self) -> bool:
        """True if a run had a service beside it."""
        return any(run.services for run in self.runs)

    @cached_property
    def has_latencies(self) -> bool:
        """True if operations of a run were timed."""
        return self.has_load or self.any_worker_has("latency")

    @cached_property
    def workers(self) -> list[WorkerRecord]:
        """The workers of all runs, one run after the other."""
        return [each for record in self.records if record is not None for each in record.workers]

    def any_worker_has(self, name: str) -> bool:
        """Return True if that field of a worker is neither None nor empty.

        Most journals have no figure of some kinds, and a look at each run takes longer than this.
        """
        return any(map(attrgetter(name), self.workers))

    @cached_property
    def stacks(self) -> list[Stack]:
        """The runs' ticks as arrays."""
        return list(stacks(self._readings))

    @cached_property
    def processes(self) -> list[list[ProcessFacts]]:
        """The reports of each run's processes (or sub-interpreters)."""
        return list(map(processes, self.runs))

    @cached_property
    def every_process(self) -> list[ProcessFacts]:
        """The processes of all runs, one run after the other."""
        return list(chain.from_iterable(self.processes))

    @cached_property
    def process_rows(self) -> Integers:
        """For each of these the place of its run."""
        counts = np.array(list(map(len, self.processes)), np.intp)
        return np.repeat(np.arange(len(self.runs)), counts)

    @cached_property
    def measured(self) -> Flags:
        """Flags of the runs that have figures, which alone can be judged."""
        measured = [
            run.outcome == "measured" and record is not None and record.outcome == "measured"
            for run, record in zip(self.runs, self.records, strict=True)
        ]
        has_figures: Flags = ~np.isnan(self["throughput_per_s"])
        return np.array(measured, np.bool_) & has_figures

    def where(self, at_fault: Flags) -> list[int]:
        """The places of the measured runs among those flagged."""
        found: list[int] = np.flatnonzero(at_fault & self.measured).tolist()
        return found

    def arm(self, row: int) -> ArmRecord | None:
        """The arm of a run; None if the study has no such arm: every run of it is then invalid."""
        return self.study.arms.get(self.runs[row].cell.arm)


def processes(run: RunLine) -> list[ProcessFacts]:
    """The report of each process (or sub-interpreter) of a measured run."""
    if run.record is None:
        return []
    of_workers = [each.process for each in run.record.workers if each.process is not None]
    return [run.record.process, *of_workers]
