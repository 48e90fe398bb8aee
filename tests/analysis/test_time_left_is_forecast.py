"""The time left is what runs have really taken; until then it is the plan's estimate."""

from pathlib import Path

import pytest

from scaling.base.formats import duration
from scaling.journal.record import Cell, RunLine
from scaling.run.session import Done, InterruptedStudyError
from scaling.run.time_left import Left, TimeLeft
from scaling.study.plan.cells import EXPECTED_OVERHEAD_S, Plan
from scaling.study.plan.order import PlannedRun
from tests.support.driving import RUN_S, Measured, Pretended, driven, small_plan

EXPECTED_S = 3.0


@pytest.fixture
def plan() -> Plan:
    return small_plan()


# --- the time left ------------------------------------------------------------------------------


def expected_s(cell: Cell) -> float | None:
    return None if cell.workload == "sleep" else EXPECTED_S


def cell(workload: str, workers: int = 1) -> Cell:
    return Cell(workload=workload, loop="asyncio", arm="3.14t", model="threads", workers=workers)


def took(which: Cell, seconds: float | None) -> RunLine:
    return RunLine(cell=which, outcome="measured", block=0, position=0, elapsed_s=seconds)


def account(*to_come: Cell) -> TimeLeft:
    time = TimeLeft(expected_s)
    for each in to_come:
        time.expect(each)
    return time


def test_before_the_first_run_it_is_the_plans_and_then_what_runs_really_take() -> None:
    time = account(*[cell("echo")] * 10)
    assert time.left == Left(10 * EXPECTED_S)
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


def test_a_run_of_unknown_length_teaches_nothing() -> None:
    time = account(cell("echo"), cell("sleep"))
    time.learn(took(cell("echo"), None))
    time.learn(took(cell("sleep"), None))
    assert time.left == Left(EXPECTED_S, unknown=1)


def test_it_counts_down_with_the_runs(plan: Plan, tmp_path: Path) -> None:
    _, told = driven(plan, tmp_path)
    runs = len(plan.runs)
    planned_s = plan.study.warmup_s + plan.study.window_s + EXPECTED_OVERHEAD_S
    assert told.left[0] == pytest.approx(Left(runs * planned_s))
    known_s = [left.seconds for left in told.left[1:]]  # after the first run
    assert known_s == pytest.approx([RUN_S * (runs - done) for done in range(1, runs)])
    assert not any(left.unknown for left in told.left)


def test_a_study_that_goes_on_has_learnt_already(plan: Plan, tmp_path: Path) -> None:
    class OneBlock(Pretended):
        def __call__(self, run: PlannedRun) -> Done:
            if run.block:
                raise KeyboardInterrupt
            return super().__call__(run)

    with pytest.raises(InterruptedStudyError):
        driven(plan, tmp_path, OneBlock())
    _, told = driven(plan, tmp_path)
    assert told.left[0] == pytest.approx(Left(RUN_S * len(plan.slots)))


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


# --- the line -----------------------------------------------------------------------------------


def test_it_comes_after_every_block_but_the_last(plan: Plan, tmp_path: Path) -> None:
    _, told = driven(plan, tmp_path, Measured())
    ((block, text),) = told.blocks  # of two
    assert block == 0
    in_a_block = len(plan.slots)
    assert text == f"block 1 of 2 done · {in_a_block * RUN_S:.0f} s left"
