"""The time left is what runs have really taken; until then it is the plan's estimate."""

from pathlib import Path

import pytest

from scaling.base.formats import duration
from scaling.journal.record import Cell, RunLine
from scaling.run.time_left import Left, TimeLeft
from scaling.study.plan.cells import EXPECTED_OVERHEAD_S, Plan
from tests.support.driving import RUN_S, driven, small_plan

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


def test_before_the_first_run_it_is_the_plans_and_then_what_runs_really_take() -> None:
    time, to_come = TimeLeft(expected_s), [cell("echo")] * 10
    assert time.left(to_come) == Left(10 * EXPECTED_S)
    time.learn(took(cell("echo"), 2.4))
    time.learn(took(cell("echo", 2), 2.6))
    assert time.left(to_come) == pytest.approx(Left(10 * 2.5))


def test_a_finite_run_takes_what_runs_of_its_cell_took_and_before_that_nobody_knows() -> None:
    time, to_come = TimeLeft(expected_s), [cell("sleep"), cell("sleep", 2)] * 2
    assert time.left(to_come) == Left(0.0, unknown=4)
    time.learn(took(cell("sleep"), 40.0))
    time.learn(took(cell("sleep"), 60.0))
    time.learn(took(cell("sleep"), None))  # teaches nothing
    assert time.left(to_come) == Left(100.0, unknown=2)
    time.learn(took(cell("sleep", 2), 20.0))
    assert time.left(to_come) == Left(140.0)


def test_it_counts_down_with_the_runs(plan: Plan, tmp_path: Path) -> None:
    """A line comes after every block but the last."""
    _, told = driven(plan, tmp_path)
    runs = len(plan.runs)
    planned_s = plan.study.warmup_s + plan.study.window_s + EXPECTED_OVERHEAD_S
    assert told.left[0] == pytest.approx(Left(runs * planned_s))
    known_s = [left.seconds for left in told.left[1:]]  # after the first run
    assert known_s == pytest.approx([RUN_S * (runs - done) for done in range(1, runs)])
    assert not any(left.unknown for left in told.left)
    left_s = len(plan.slots) * RUN_S
    assert told.blocks == [(0, f"block 1 of 2 done · {left_s:.0f} s left")]


def test_times_are_printed_in_fitting_units_and_what_is_not_known_is_said() -> None:
    for left, words in (
        (Left(200), "3 min 20 s left"),
        (Left(200, 3), "over 3 min 20 s left"),
        (Left(0, 3), "time left not known yet"),
        (Left(0), "0 s left"),
    ):
        assert str(left) == words
    for seconds, words in ((-1, "0 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (7500, "2 h 05 min")):
        assert duration(seconds) == words
