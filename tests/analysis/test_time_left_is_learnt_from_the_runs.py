"""The time left is what runs have really taken; of what has not run yet, none is made up."""

from pathlib import Path

import pytest

from scaling.base.formats import duration
from scaling.journal.record import Cell, RunLine
from scaling.run.session import InterruptedStudyError, drive
from scaling.run.time_left import Left, TimeLeft
from scaling.study.plan.cells import EXPECTED_OVERHEAD_S, Plan
from scaling.study.plan.order import PlannedRun
from tests.analysis.test_resume_is_replay import Pretended, Told, believes, opened, plan

__all__ = ["plan"]  # the fixture

INSIDE_S = 2.0


def inside_s(cell: Cell) -> float | None:
    return None if cell.workload == "sleep" else INSIDE_S


def cell(workload: str, workers: int = 1, *, twin: bool = False) -> Cell:
    return Cell(
        workload=workload,
        loop="asyncio",
        arm="3.14t",
        model="threads",
        workers=workers,
        twin=twin,
    )


def took(which: Cell, seconds: float | None) -> RunLine:
    return RunLine(cell=which, outcome="measured", block=0, position=0, elapsed_s=seconds)


def account(*to_come: Cell) -> TimeLeft:
    time = TimeLeft(inside_s, overhead_s=1.0)
    for each in to_come:
        time.expect(each)
    return time


def test_before_the_first_run_it_is_the_estimate() -> None:
    assert account(*[cell("echo")] * 10).left == Left(10 * (INSIDE_S + 1.0))


def test_what_runs_cost_beside_their_windows_is_averaged() -> None:
    time = account(*[cell("echo")] * 10)
    time.learn(took(cell("echo"), 2.4))
    time.learn(took(cell("echo", 2), 2.6))
    assert time.left == pytest.approx(Left(10 * 2.5))
    time.done(cell("echo"))
    assert time.left == pytest.approx(Left(9 * 2.5))


def test_a_finite_run_takes_what_runs_of_its_cell_took_and_before_that_nobody_knows() -> None:
    time = account(*[cell("sleep")] * 2, *[cell("sleep", 2)] * 2)
    assert time.left == Left(0.0, unknown=4)
    time.learn(took(cell("sleep"), 40.0))
    time.learn(took(cell("sleep"), 60.0))
    assert time.left == Left(100.0, unknown=2)
    time.learn(took(cell("sleep", 2), 20.0))
    assert time.left == Left(140.0)


def test_a_duplicate_takes_as_long_as_its_cell() -> None:
    time = account(cell("sleep", twin=True))
    time.learn(took(cell("sleep"), 40.0))
    assert time.left == Left(40.0)


def test_a_run_of_unknown_length_teaches_nothing() -> None:
    time = account(cell("echo"), cell("sleep"))
    time.learn(took(cell("echo"), None))
    time.learn(took(cell("sleep"), None))
    assert time.left == Left(INSIDE_S + 1.0, unknown=1)


def test_it_counts_down_with_the_runs(plan: Plan, tmp_path: Path) -> None:
    told = Told()
    with opened(tmp_path / "journal.jsonl") as journal:
        drive(plan, journal, Pretended(), believes, told)
    runs = len(plan.runs)
    planned_s = plan.study.warmup_s + plan.study.window_s + EXPECTED_OVERHEAD_S
    assert told.left[0] == pytest.approx(Left(runs * planned_s))
    # Every run took 4 s, and after the first one that is known.
    known_s = [left.seconds for left in told.left[1:]]
    assert known_s == pytest.approx([4.0 * (runs - done) for done in range(1, runs)])
    assert not any(left.unknown for left in told.left)


def test_a_study_that_goes_on_has_learnt_already(plan: Plan, tmp_path: Path) -> None:
    class OneBlock(Pretended):
        def __call__(self, run: PlannedRun, attempt: int) -> tuple[RunLine, bytes | None]:
            if run.block:
                raise KeyboardInterrupt
            return super().__call__(run, attempt)

    path, told = tmp_path / "journal.jsonl", Told()
    with opened(path) as journal, pytest.raises(InterruptedStudyError):
        drive(plan, journal, OneBlock(), believes, Told())
    with opened(path) as journal:
        drive(plan, journal, Pretended(), believes, told)
    assert told.left[0] == pytest.approx(Left(4.0 * len(plan.every_cell)))


@pytest.mark.parametrize(
    ("left", "words"),
    [
        (Left(200), "3 min 20 s left"),
        (Left(200, 3), "over 3 min 20 s left"),
        (Left(0, 3), "time left not known yet"),
        (Left(0), "0 s left"),
    ],
)
def test_what_is_not_known_is_said(left: Left, words: str) -> None:
    assert str(left) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-1, "0 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (200, "3 min 20 s"), (7500, "2 h 05 min")],
)
def test_durations_are_printed_in_fitting_units(seconds: float, words: str) -> None:
    assert duration(seconds) == words
