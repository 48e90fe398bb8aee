"""The columns of some runs, each computed when it is first needed."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from operator import attrgetter
from typing import Any

import numpy as np

from scaling.analysis.arrays import Integers
from scaling.analysis.table.columns import EVERY
from scaling.analysis.table.stacks import Readings, Stack, readings, stacks
from scaling.analysis.validity import (
    Batch,
    Expectation,
    Finding,
    expectation,
    judge,
    processes,
    watched_cpus,
)
from scaling.journal.record import ProcessFacts, Record, RunLine, StudyLine, WorkerRecord


def expectations(study: StudyLine) -> dict[str, Expectation]:
    """What the runs of each arm of a study have to fulfil."""
    cpus = watched_cpus(study.machine)
    return {name: expectation(arm, cpus) for name, arm in study.arms.items()}


class Rows(dict[str, Any]):
    """Columns by name, one value for each of `runs`: arrays of numbers and flags, lists of others.

    Those that only serve to judge runs are among them. `expected` is what the study's arms promise,
    `ticks` are the runs' readings where their records no longer have them.
    """

    runs: Sequence[RunLine]
    study: StudyLine

    def __init__(
        self,
        runs: Sequence[RunLine],
        study: StudyLine,
        expected: Mapping[str, Expectation] | None = None,
        ticks: Sequence[Readings | None] | None = None,
    ) -> None:
        self.runs = runs
        self.study = study
        self._expected = expectations(study) if expected is None else expected
        self._readings = list(map(readings, self.records)) if ticks is None else ticks

    def __missing__(self, name: str) -> Any:
        column = EVERY[name]
        values = column.read(self)
        self[name] = found = np.asarray(values, column.dtype) if column.is_array else values
        return found

    @cached_property
    def records(self) -> list[Record | None]:
        """What the child of each run wrote, None where there is nothing."""
        return [run.record for run in self.runs]

    @cached_property
    def has_load(self) -> bool:
        """Whether any of the runs was loaded from outside."""
        return any(run.load is not None for run in self.runs)

    @cached_property
    def workers(self) -> list[WorkerRecord]:
        """The workers of all runs, one run after the other."""
        return [each for record in self.records if record is not None for each in record.workers]

    def any_worker_has(self, name: str) -> bool:
        """Whether that field of any worker is neither None nor empty.

        Most journals have no figure of some kinds, and a look at each run takes longer than this.
        """
        return any(map(attrgetter(name), self.workers))

    @cached_property
    def stacks(self) -> list[Stack]:
        """The runs' ticks as arrays."""
        return list(stacks(self._readings))

    @cached_property
    def processes(self) -> list[list[ProcessFacts]]:
        """What each process (or sub-interpreter) of each run reported of itself."""
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

    @property
    def batch(self) -> Batch:
        """The runs, ready to be judged; not cached, because it refers to these columns.

        Such a cycle would hold their memory while the garbage collector is off.
        """
        measured = [
            run.outcome == "measured" and record is not None and record.outcome == "measured"
            for run, record in zip(self.runs, self.records, strict=True)
        ]
        return Batch(
            study=self.study,
            runs=self.runs,
            processes=self.processes,
            expected=[self._expected.get(run.cell.arm, Expectation()) for run in self.runs],
            figures=self,
            measured=np.array(measured, np.bool_) & ~np.isnan(self["throughput_per_s"]),
        )

    @cached_property
    def findings(self) -> list[tuple[Finding, ...]]:
        """Every reason why a run is not simply valid, the gravest first."""
        return judge(self.batch)


def busy_judge_of(study: StudyLine) -> Callable[[RunLine], str | None]:
    """A judge of the study's runs: what others took of the machine, None where it was quiet."""
    expected = expectations(study)

    def why_busy(run: RunLine) -> str | None:
        (findings,) = Rows([run], study, expected).findings
        return next((each.detail for each in findings if each.word == "machine-busy"), None)

    return why_busy


def judge_of(study: StudyLine) -> Callable[[RunLine], str | None]:
    """A judge of the study's runs: says why a run is invalid, None where it is not.

    It judges as the frame does, but for what shows only between runs of one cell
    (`scaling.analysis.table.marks`): two allocator states, or a generator that is late in most
    runs, are the cell's, and would be there again.
    """
    expected = expectations(study)

    def why_invalid(run: RunLine) -> str | None:
        (findings,) = Rows([run], study, expected).findings
        reasons = [
            f"{each.word} ({each.detail})" for each in findings if each.severity == "invalid"
        ]
        return "; ".join(reasons) or None

    return why_invalid
