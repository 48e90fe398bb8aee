"""What is found against a run, and what a run is held against."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from scaling.analysis.table.stacks import Flags, Floats
from scaling.base.errors import UsageError
from scaling.builds.arms import ReadBack, parse_arm
from scaling.journal.record import ArmRecord, Machine, ProcessFacts, PythonFacts, RunLine

# The smallest difference that a verdict takes for one (DESIGN.md, issue on verdicts).
MARGIN = 0.02


class Finding(NamedTuple):
    """One reason against a run: a word for machines, a sentence for people."""

    word: str
    severity: Literal["suspect", "invalid"]
    detail: str


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a run is held against: what its arm promises of every process, and the machine.

    `reads_back` is None where the arm is not known, and then no run of it can be believed.
    `logical_cpus` is None where others' use of the CPUs cannot be judged (`watched_cpus`);
    `python` is how the arm's environment described its interpreter, if it is known.
    """

    reads_back: ReadBack | None = None
    logical_cpus: int | None = None
    python: PythonFacts | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """Runs to be judged together, with what each is held against and its figures as columns.

    `figures` are those of `scaling.analysis.table.ticks.FIGURES` and of
    `scaling.analysis.table.fields.outside`, shape (runs,) each; `measured` tells which of the runs
    have any to judge.
    """

    runs: Sequence[RunLine]
    expected: Sequence[Expectation]
    figures: Mapping[str, Floats]
    measured: Flags

    @property
    def rows(self) -> list[int]:
        """The places of the runs that can be judged."""
        return self.where(self.measured)

    def where(self, at_fault: Flags) -> list[int]:
        """The places of the runs that can be judged and are at fault."""
        found: list[int] = np.flatnonzero(at_fault & self.measured).tolist()
        return found


type Found = Iterator[tuple[int, Finding]]  # a run's place in its batch, what is wrong with it
type Check = Callable[[Batch], Found]


def expectation(arm: ArmRecord, logical_cpus: int | None = None) -> Expectation:
    """What is expected of the runs of an arm: what its settings promise (`scaling.builds.arms`)."""
    try:
        reads_back = parse_arm("+".join([arm.build, *arm.settings])).expected
    except UsageError:  # a setting of a later version
        reads_back = None
    python = arm.description.python if arm.description else None
    return Expectation(reads_back, logical_cpus, python)


def watched_cpus(machine: Machine) -> int | None:
    """The machine's CPUs, if the study may use them all; else None.

    Others' CPU time is known of the machine as a whole. Where an affinity mask or a quota leaves us
    fewer CPUs than there are, it cannot be told whether they were at work on ours.
    """
    whole = machine.usable_cpus is None or machine.usable_cpus == machine.logical_cpus
    return machine.logical_cpus if whole else None


def processes(run: RunLine) -> Iterator[ProcessFacts]:
    """What each process (or sub-interpreter) of a measured run says of itself."""
    if run.record is not None:
        yield run.record.process
        yield from (worker.process for worker in run.record.workers if worker.process is not None)
