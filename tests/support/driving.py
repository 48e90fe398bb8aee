"""Studies that are driven through all their runs without measuring anything."""

import random
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from scaling.builds.arms import parse_arm
from scaling.builds.prepared_arm import PreparedArm
from scaling.journal.file import JournalFile
from scaling.journal.record import Description, Key, Memory, RunLine
from scaling.run.execute import Executor
from scaling.run.load import GeneratorProgram
from scaling.run.prepare import Prepared
from scaling.run.progress import Counts, Display
from scaling.run.services import Services
from scaling.run.session import Done, Judge, drive
from scaling.run.time_left import ExtraTime, Left
from scaling.study.plan.cells import Plan
from scaling.study.plan.order import PlannedRun
from tests.support.descriptions import description
from tests.support.plans import TWO_CORES, planned
from tests.support.runs import with_
from tests.support.studies import FakeStudy

RUN_S = 4.0  # what every pretended run takes
WHY_BUSY = "other processes took 1.2 of 2 CPUs"


class Told(Display):
    """A display that remembers."""

    def __init__(self) -> None:
        self.began: tuple[int, int] | None = None
        self.counts: Callable[[], Counts] = Counts
        self.figures: list[str] = []
        self.left: list[Left] = []
        self.invalids: list[tuple[str, bool]] = []
        self.busy_runs: list[tuple[str, bool]] = []
        self.blocks: list[tuple[int, str]] = []
        self.notes: list[str] = []
        self.ended = False

    def begin(self, counts: Callable[[], Counts]) -> None:
        done, total, _ = counts()
        self.began, self.counts = (total, done), counts

    def running(self, run: str, left: Left) -> None:
        self.left.append(left)

    def finished(self, run: str, figure: str, left: Left) -> None:
        self.figures.append(figure)

    def invalid(self, reason: str, *, again: bool) -> None:
        self.invalids.append((reason, again))

    def busy(self, reason: str, *, again: bool) -> None:
        self.busy_runs.append((reason, again))

    def block_done(self, block: int, text: str) -> None:
        self.blocks.append((block, text))

    def note(self, text: str) -> None:
        self.notes.append(text)

    def end(self) -> None:
        self.ended = True


class Pretended:
    """Runs nothing: every run has crashed. Stops like Ctrl-C before run number `stop_at`.

    `done` has the runs as planned, `attempts` the number of each attempt.
    """

    def __init__(self, stop_at: int | None = None) -> None:
        self.done: list[PlannedRun] = []
        self.attempts: list[int] = []
        self._stop_at = stop_at

    def __call__(self, run: PlannedRun) -> Done:
        if len(self.done) == self._stop_at:
            raise KeyboardInterrupt
        self.done.append(run.at(1))
        self.attempts.append(run.attempt)
        return self.line(run), None

    def line(self, run: PlannedRun) -> RunLine:
        """What the run leaves in the journal."""
        return RunLine(
            cell=run.cell,
            outcome="crashed",
            block=run.block,
            position=run.position,
            repeat=run.repeat,
            attempt=run.attempt,
            elapsed_s=RUN_S,
            signal=11,
            memory=Memory(),
        )

    def together(self, runs: Sequence[PlannedRun]) -> list[Done]:
        """Do one run, or what a group has."""
        return [self(run) for run in runs]


class Measured(Pretended):
    """Measures, without any time passing, what a machine with this noise would have."""

    def __init__(self, noise: float = 0.015, stop_at: int | None = None) -> None:
        super().__init__(stop_at)
        self._made, self._rng = FakeStudy(noise=noise), random.Random(1)

    def line(self, run: PlannedRun) -> RunLine:
        """A valid run."""
        place = {"block": run.block, "position": run.position}
        line = self._made.run(run.cell, self._rng, **place)
        return with_(line, repeat=run.repeat, attempt=run.attempt, elapsed_s=RUN_S)


class Machine:
    """Busy in these runs, counted from 0, and quiet again after so many looks."""

    def __init__(self, busy_in: Collection[int], looks: int = 2) -> None:
        self.seen = -1
        self.now_s = 0.0
        self._busy_in = busy_in
        self._looks = looks
        self._looked = 0

    def busy(self, line: RunLine) -> str | None:
        del line
        self.seen += 1
        self._looked = 0
        return WHY_BUSY if self.seen in self._busy_in else None

    def quiet(self, workers: int) -> bool:
        assert workers in (1, 2)
        self.now_s += 0.5
        self._looked += 1
        return self._looked >= self._looks

    def extra(self, share: float = 1.0) -> ExtraTime:
        return ExtraTime(self.busy, self.quiet, lambda: self.now_s, share)


def believes(line: RunLine) -> str | None:
    """A judge who finds nothing wrong, whatever the run."""
    del line
    return None


def keys(runs: Sequence[PlannedRun | RunLine]) -> list[Key]:
    return [run.key for run in runs]


def doubts(*invalid: tuple[PlannedRun, int]) -> Judge:
    """A judge to whom all runs are valid but these attempts of these runs."""
    those = {(run.key, attempt) for run, attempt in invalid}

    def judge(line: RunLine) -> str | None:
        return "throttled" if (line.key, line.attempt) in those else None

    return judge


def small_plan(blocks: int = 2) -> Plan:
    """Two workloads in threads, at two Ns."""
    return planned(
        workload=("echo,compute",), model=("threads",), workers=("1,2",), blocks=blocks, seconds=1.0
    )


def opened(path: Path) -> JournalFile:
    """The journal of a study, begun if there is none."""
    journal = JournalFile(path)
    if journal.head is None:
        journal.append(FakeStudy().first_line)
    return journal


def driven(
    plan: Plan,
    folder: Path,
    runs: Pretended | None = None,
    judge: Judge = believes,
    told: Any = None,
    **more: Any,
) -> tuple[Pretended, Any]:
    """Drive the study whose journal is in `folder`, on from where it stands; runs and display."""
    runs, told = runs or Pretended(), told or Told()
    with opened(folder / "journal.jsonl") as journal:
        drive(plan, journal, runs.together, judge, told, **more)
    return runs, told


def prepared(plan: Plan, described: Description | None = None) -> Prepared:
    """What a study needs, whose arms all are the running Python as `described`."""
    found = described or description()
    variables = {"PYTHONPATH": ""}
    arms = {
        name: PreparedArm(parse_arm(name), sys.executable, variables, found, "PATH")
        for name in plan.study.arms
    }
    return Prepared(plan, arms, TWO_CORES, "pins", "source")


def executor(ready: Prepared, services: Services | None = None) -> Executor:
    """What makes the runs of a study, with these services, or with some that nobody starts."""
    generators = GeneratorProgram(python=sys.executable, environment={})
    beside = services or Services(sys.executable, {})
    return Executor(ready.plan, ready.arms, beside, generators)
