"""Findings of checks, and what these share."""

from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Literal, NamedTuple

from scaling.analysis.rows import Rows
from scaling.journal.record import ArmRecord, Machine, PythonFacts, RunLine

# Tolerated deviation of a run, or drift of a machine, whatever the margin of a study's verdicts.
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

# Facts that are compared with the arm. Runs that report the same are judged once.
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


def reported(rows: Rows) -> list[int]:
    """A number for each run; runs that report the same have the same one."""
    numbers: dict[object, int] = {}
    return [numbers.setdefault(_reported(run), len(numbers)) for run in rows.runs]


def alike(rows: Rows) -> list[list[int]]:
    """The places of the measured runs, together with those that report the same."""
    found: dict[int, list[int]] = {}
    numbers = rows["reported"].tolist()
    for row in rows.where(rows.measured):
        found.setdefault(numbers[row], []).append(row)
    return list(found.values())


type Found = Iterator[tuple[int, Finding]]  # the place of a run, what is wrong with it
type Check = Callable[[Rows], Found]


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
