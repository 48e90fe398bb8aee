"""Findings of checks, and the batch of runs that a check sees."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from scaling.analysis.arrays import Flags
from scaling.journal.record import ArmRecord, Machine, ProcessFacts, PythonFacts, RunLine, StudyLine

# What a run may miss, or a machine drift, by: whatever the margin of a study's verdicts is.
TOLERANCE = 0.02

# Of the operations: an error is faster or slower than the work that it replaces.
MOST_ERRORS = TOLERANCE / 2


type Severity = Literal["suspect", "invalid"]


class Finding(NamedTuple):
    """One fault of a run: a word for programs, a sentence for people."""

    word: str
    severity: Severity
    detail: str


def error_samples(run: RunLine) -> Iterator[str]:
    """Samples of the errors that the workers saw."""
    workers = run.record.workers if run.record else []
    return (text for worker in workers for text in worker.error_samples)


# Facts about its build that a process reports, by what they are called in a message.
BUILD_FACTS = {
    "Python": "version",
    "free-threaded build": "free_threaded",
    "thread_inherit_context": "thread_inherit_context",
    "context_aware_warnings": "context_aware_warnings",
}

# What is compared with the arm. Runs that report the same are judged once.
_of_cell = attrgetter("arm", "model", "workers", "loop")
_of_worker = attrgetter("index", "thread", "loop_class", "eager_tasks", "own_code")
_of_process = attrgetter(
    *BUILD_FACTS.values(),
    "gil",
    "allocator",
    "gc_enabled",
    "gc_frozen",
    "gc_threshold",
    "switches",
    "debug",
)


def _reported(run: RunLine) -> tuple[object, ...]:
    if run.record is None:
        return (_of_cell(run.cell),)
    loop, record = run.record.loop, run.record
    return (
        _of_cell(run.cell),
        loop and loop.class_,
        record.outside and (record.outside.workers, record.outside.at_rest),
        _of_process(record.process),
        *record.facts.items(),
        *[
            (_of_worker(each), each.process and _of_process(each.process))
            for each in record.workers
        ],
    )


class Figures(Protocol):
    """Columns by name, a value for each run."""

    def __getitem__(self, name: str, /) -> Any:
        """The column of that name."""


@dataclass(frozen=True)
class Batch:
    """Runs to be judged together, with their figures as columns.

    They are checked against what the arms of the `study` promised, and its machine. `figures` are
    columns by name (`scaling.analysis.table.columns.EVERY`), `processes` what each process of a run
    reports, a value for each run; `measured` marks the runs that have figures.
    """

    study: StudyLine
    runs: Sequence[RunLine]
    processes: Sequence[Sequence[ProcessFacts]]
    figures: Figures
    measured: Flags

    @property
    def rows(self) -> list[int]:
        """Indices of the runs that can be judged."""
        return self.where(self.measured)

    def arm(self, row: int) -> ArmRecord | None:
        """The arm of a run; None if the study has no such arm: every run of it is then invalid."""
        return self.study.arms.get(self.runs[row].cell.arm)

    @cached_property
    def alike(self) -> list[list[int]]:
        """Indices of the runs that can be judged, together with those that report the same."""
        found: dict[object, list[int]] = {}
        for row in self.rows:
            found.setdefault(_reported(self.runs[row]), []).append(row)
        return list(found.values())

    def where(self, at_fault: Flags) -> list[int]:
        """Indices of the runs that can be judged and are at fault."""
        found: list[int] = np.flatnonzero(at_fault & self.measured).tolist()
        return found


type Found = Iterator[tuple[int, Finding]]  # a run's index in its batch, what is wrong with it
type Check = Callable[[Batch], Found]


def python_of(arm: ArmRecord | None) -> PythonFacts | None:
    """The interpreter of an arm as its environment described it; None where that is not known."""
    return arm.description.python if arm and arm.description else None


def watched_cpus(machine: Machine) -> int | None:
    """The machine's CPUs, if the study may use them all; else None.

    The CPU time of other processes is known for the machine as a whole. If an affinity mask or a
    quota leaves us fewer CPUs than there are, that time may have been spent on CPUs not ours.
    """
    whole = machine.usable_cpus is None or machine.usable_cpus == machine.logical_cpus
    return machine.logical_cpus if whole else None


def processes(run: RunLine) -> list[ProcessFacts]:
    """The report of each process (or sub-interpreter) of a measured run."""
    if run.record is None:
        return []
    of_workers = [each.process for each in run.record.workers if each.process is not None]
    return [run.record.process, *of_workers]
