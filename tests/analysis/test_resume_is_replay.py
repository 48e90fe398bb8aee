"""What the journal holds is measured; what the plan holds besides is still to do, and only that."""

import gc
import random
from collections.abc import Collection
from pathlib import Path

import pytest

from scaling.analysis.table.load import live_frame
from scaling.journal.file import JournalFile
from scaling.journal.record import Cell, Memory, RunLine
from scaling.machine.topology import Topology
from scaling.run.session import InterruptedStudyError, Replay, drive
from scaling.run.time_left import Left, Standing
from scaling.study.combine import study_from
from scaling.study.options import Options
from scaling.study.plan.cells import Plan, make_plan
from scaling.study.plan.order import PlannedRun
from tests.support.descriptions import description
from tests.support.fabricate import Made, run_line, study_line

TWO_CORES = Topology(logical_cpus=2, physical_cores=2)


class Told:
    """A display that remembers."""

    def __init__(self) -> None:
        self.began: tuple[int, int] | None = None
        self.again = 0
        self.figures: list[str] = []
        self.left: list[Left] = []
        self.invalids: list[tuple[str, bool]] = []
        self.busy_runs: list[tuple[str, bool]] = []
        self.blocks: list[tuple[int, str]] = []
        self.added: list[int] = []
        self.notes: list[str] = []
        self.ended = False

    def begin(self, total: int, done: int, again: int = 0, what: str = "runs") -> None:
        self.began = (total, done)
        self.again = again

    def more(self, runs: int, again: int = 0) -> None:
        self.added.append(runs)

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
    """Runs nothing; stops like Ctrl-C before run number `stop_at`."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.done: list[PlannedRun] = []
        self.attempts: list[int] = []
        self._stop_at = stop_at

    def __call__(self, run: PlannedRun, attempt: int) -> tuple[RunLine, bytes | None]:
        if len(self.done) == self._stop_at:
            raise KeyboardInterrupt
        self.done.append(run)
        self.attempts.append(attempt)
        line = RunLine(
            cell=run.cell,
            outcome="crashed",
            block=run.block,
            position=run.position,
            attempt=attempt,
            elapsed_s=4.0,
            signal=11,
            memory=Memory(),
        )
        return line, None


def believes(line: RunLine) -> str | None:
    """A judge who finds nothing wrong, whatever the run."""
    del line
    return None


@pytest.fixture
def plan() -> Plan:
    options = Options(
        workload=("echo,compute",),
        model=("threads",),
        workers=("1,2",),
        blocks=2,
        seconds=1.0,
        controls=False,
    )
    study = study_from(options, running_build="3.14t")
    return make_plan(study, {"3.14t": description()}, TWO_CORES)


def opened(path: Path) -> JournalFile:
    journal = JournalFile(path)
    if journal.head is None:
        journal.append(study_line(Made()))
    return journal


def keys(runs: list[PlannedRun]) -> list[tuple[int, Cell]]:
    return [(run.block, run.cell) for run in runs]


def test_an_interrupted_study_goes_on_with_what_is_missing(plan: Plan, tmp_path: Path) -> None:
    first, second = Pretended(stop_at=3), Pretended()
    stopped = pytest.raises(InterruptedStudyError, match=r"3 of \d+ runs.*same command")
    with opened(tmp_path / "journal.jsonl") as journal, stopped:
        drive(plan, journal, first, believes, Told())
    with opened(tmp_path / "journal.jsonl") as journal:
        told = Told()
        drive(plan, journal, second, believes, told)
        assert told.began == (len(plan.runs), 3)
    assert keys(first.done) + keys(second.done) == keys(plan.runs)


def test_a_complete_study_has_nothing_to_do(plan: Plan, tmp_path: Path) -> None:
    with opened(tmp_path / "journal.jsonl") as journal:
        drive(plan, journal, Pretended(), believes, Told())
        assert Replay.of(journal.runs, believes).remaining(plan.together(plan.runs)) == []
        again = Pretended()
        drive(plan, journal, again, believes, Told())
    assert again.done == []


def test_a_record_is_on_disk_before_the_next_run_starts(plan: Plan, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    lines_seen = []

    class Looking(Pretended):
        def __call__(self, run: PlannedRun, attempt: int) -> tuple[RunLine, bytes | None]:
            lines_seen.append(path.read_bytes().count(b"\n"))
            return super().__call__(run, attempt)

    with opened(path) as journal:
        drive(plan, journal, Looking(), believes, Told())
    assert lines_seen == list(range(1, len(plan.runs) + 1))


def test_failed_runs_are_reported_and_do_not_stop_the_study(plan: Plan, tmp_path: Path) -> None:
    told = Told()
    with opened(tmp_path / "journal.jsonl") as journal:
        drive(plan, journal, Pretended(), believes, told)
    assert told.figures == ["crashed: ended by signal 11"] * len(plan.runs)
    assert told.notes == []
    assert told.ended


def test_a_driver_keeps_no_run_that_it_has_measured(plan: Plan, tmp_path: Path) -> None:
    """Its memory would grow with the study, beside what it measures."""

    def alive() -> int:
        return sum(isinstance(each, RunLine) for each in gc.get_objects())

    class Measured(Pretended):
        """Returns whole records, and looks at how many there are in the end."""

        alive = 0

        def __call__(self, run: PlannedRun, attempt: int) -> tuple[RunLine, bytes | None]:
            super().__call__(run, attempt)
            place = {"block": run.block, "position": run.position}
            line = run_line(Made(), run.cell, random.Random(1), **place)
            if run.block == 3:  # the last one
                self.alive = max(self.alive, alive())
            return line, None

    def enough(runs: Collection[RunLine], blocks: int) -> Standing:
        return Standing(live_frame(runs, study_line(Made()))["block"].nunique() == 4, "")

    runs, before = Measured(), alive()
    with opened(tmp_path / "journal.jsonl") as journal:
        drive(plan, journal, runs, believes, Told(), enough)
        assert len(journal.runs) == len(runs.done) == 2 * len(plan.runs)
        assert {line.block for line in journal.runs} == {0, 1, 2, 3}
    assert 1 <= runs.alive - before <= 2  # the one just measured, and one that is read again
