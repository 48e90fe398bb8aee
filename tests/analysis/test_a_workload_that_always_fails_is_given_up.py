"""A workload whose every run has failed is not run again, and the command ends with exit code 1."""

import random
from pathlib import Path

import pytest

from scaling.analysis.results import incomplete
from scaling.analysis.table.load import read_journal
from scaling.base.console import new_console
from scaling.base.errors import ScalingError
from scaling.journal.file import FILE_NAME, JournalFile
from scaling.journal.record import RunLine
from scaling.report.output import finish
from scaling.run.session import InterruptedStudyError, drive, is_complete
from scaling.study.combine import study_from
from scaling.study.options import Options
from scaling.study.plan.cells import Plan, make_plan
from scaling.study.plan.order import PlannedRun
from tests.analysis.test_resume_is_replay import TWO_CORES, Told
from tests.support.descriptions import description
from tests.support.fabricate import Made, run_line, study_line, with_

FAILING = "echo"


def planned(blocks: int) -> Plan:
    options = Options(
        workload=("echo,compute",), workers=("1,2",), blocks=blocks, seconds=1.0, controls=False
    )
    study = study_from(options, running_build="3.14t")
    return make_plan(study, {"3.14t": description()}, TWO_CORES)


class Crashing:
    """Measures `compute`; of `echo` only the runs number `works` of those that it was asked for."""

    def __init__(self, *works: int, stop_at: int | None = None) -> None:
        self.done: list[tuple[PlannedRun, int]] = []
        self._works = works
        self._stop_at = stop_at

    def __call__(self, run: PlannedRun, attempt: int) -> tuple[RunLine, bytes | None]:
        if len(self.done) == self._stop_at:
            raise KeyboardInterrupt
        self.done.append((run, attempt))
        place = {"block": run.block, "position": run.position}
        line = run_line(Made(), run.cell, random.Random(1), **place)
        is_failing = run.cell.workload == FAILING and len(self.failing) not in self._works
        crash = {"outcome": "crashed", "record": None, "signal": 11} if is_failing else {}
        return with_(line, attempt=attempt, **crash), None

    @property
    def failing(self) -> list[tuple[int, int]]:
        """Block and attempt of the runs of the workload that fails."""
        return [(r.block, attempt) for r, attempt in self.done if r.cell.workload == FAILING]


def judge(line: RunLine) -> str | None:
    return "crashed" if line.outcome == "crashed" else None


def driven(plan: Plan, folder: Path, runs: Crashing, told: Told | None = None) -> None:
    folder.mkdir(exist_ok=True)
    with JournalFile(folder / FILE_NAME) as journal:
        if journal.head is None:
            head = study_line(Made(variants={"echo": [{}], "compute": [{}]}))
            made = with_(head, blocks=plan.study.blocks, runs_per_block=len(plan.every_cell))
            journal.append(made)
        drive(plan, journal, runs, judge, told or Told())
        assert is_complete(plan, journal.runs, judge)


def echoes(plan: Plan) -> int:
    """How many runs of the failing workload a block has."""
    return sum(cell.workload == FAILING for cell in plan.every_cell)


def test_it_is_run_in_two_blocks_and_no_more(tmp_path: Path) -> None:
    plan, runs, told = planned(4), Crashing(), Told()
    driven(plan, tmp_path, runs, told)
    each = echoes(plan)
    assert sorted(runs.failing) == [(0, 1)] * each + [(1, 1)] * each
    others = [(run.block, attempt) for run, attempt in runs.done if run.cell.workload != FAILING]
    assert {block for block, _ in others} == {0, 1, 2, 3}
    left_out = 2 * each + 2 * each  # of the blocks after these; and what was to be made again
    assert told.notes == [f"echo: every run failed; {left_out} more runs of it will not be made"]
    assert told.added == [-left_out]


def test_a_study_of_one_block_does_not_make_it_again(tmp_path: Path) -> None:
    plan, runs = planned(1), Crashing()
    driven(plan, tmp_path, runs)
    assert runs.failing == [(0, 1)] * echoes(plan)


def test_one_run_that_worked_is_reason_to_try_all_others_again(tmp_path: Path) -> None:
    plan, runs = planned(3), Crashing(2)
    driven(plan, tmp_path, runs)
    assert runs.failing.count((2, 1)) == echoes(plan)
    assert sum(attempt == 2 for _, attempt in runs.failing) == 3 * echoes(plan) - 1


@pytest.mark.parametrize("stop_at", range(1, 12, 2))
def test_it_is_given_up_wherever_the_study_was_interrupted(stop_at: int, tmp_path: Path) -> None:
    plan, whole = planned(4), Crashing()
    driven(plan, tmp_path / "whole", whole)
    first, second = Crashing(stop_at=stop_at), Crashing()
    with pytest.raises(InterruptedStudyError):
        driven(plan, tmp_path / "cut", first)
    driven(plan, tmp_path / "cut", second)
    assert first.done + second.done == whole.done


def test_a_study_without_it_is_complete(tmp_path: Path) -> None:
    driven(planned(4), tmp_path, Crashing())
    journal = read_journal(tmp_path)
    assert incomplete(journal.frame, journal.study) == ""


@pytest.mark.usefixtures("undrawn")
def test_the_command_ends_with_exit_code_1_and_names_it(tmp_path: Path) -> None:
    driven(planned(2), tmp_path, Crashing())
    with pytest.raises(ScalingError, match="no run of echo is valid, so there is no figure") as e:
        finish(tmp_path, new_console(quiet=True))
    assert e.value.exit_code == 1
    driven(planned(2), tmp_path / "worked", Crashing(2))
    finish(tmp_path / "worked", new_console(quiet=True))
