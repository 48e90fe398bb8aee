"""An invalid run stays in the journal and is made once more at the end of the study."""

import io
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import scaling
from scaling.analysis.curves import curves
from scaling.analysis.table.load import judge_of
from scaling.journal.record import Cell, RunLine
from scaling.run.progress import LiveLine, PlainLines
from scaling.run.session import RETRIES, Attempt, InterruptedStudyError, Replay, drive
from scaling.study.plan.cells import Plan
from scaling.study.plan.order import PlannedRun, in_blocks
from tests.analysis.test_resume_is_replay import Pretended, Told, believes, opened, plan
from tests.support.fabricate import Made, journal, study_line, with_, write

__all__ = ["plan"]  # the fixture

type Key = tuple[int, Cell]

CELLS = [
    Cell(workload="echo", loop="asyncio", arm="3.14t", model="threads", workers=n)
    for n in (1, 2, 3)
]


def key(run: PlannedRun | RunLine) -> Key:
    return run.block, run.cell


def doubts(*invalid: tuple[Key, int]) -> Callable[[RunLine], str | None]:
    """A judge to whom all runs are valid but these attempts of these runs."""

    def judge(line: RunLine) -> str | None:
        return "throttled" if (key(line), line.attempt) in invalid else None

    return judge


def line_of(attempt: Attempt) -> RunLine:
    run = attempt.run
    return RunLine(
        cell=run.cell, outcome="measured", block=run.block, position=0, attempt=attempt.attempt
    )


def test_an_invalid_run_is_done_again_after_all_others(plan: Plan, tmp_path: Path) -> None:
    unlucky = plan.runs[1]
    runs, told = Pretended(), Told()
    with opened(tmp_path / "journal.jsonl") as journal:
        drive(plan, journal, runs, doubts((key(unlucky), 1)), told)
    assert runs.done == [*plan.runs, unlucky]
    assert runs.attempts == [1] * len(plan.runs) + [2]
    assert told.invalids == [("throttled", True)]


def test_a_run_that_is_never_valid_is_given_up(plan: Plan, tmp_path: Path) -> None:
    runs, told = Pretended(), Told()
    hopeless = doubts(*[(key(plan.runs[0]), attempt) for attempt in range(1, 9)])
    with opened(tmp_path / "journal.jsonl") as journal:
        drive(plan, journal, runs, hopeless, told)
        assert Replay.of(journal.runs, hopeless).remaining(plan.together(plan.runs)) == []
    assert runs.attempts.count(2) == RETRIES == 1
    assert told.invalids == [("throttled", True), ("throttled", False)]


@pytest.mark.slow
@given(st.data())
def test_wherever_a_study_stops_it_goes_on_as_if_it_had_not(data: st.DataObject) -> None:
    """The one order of runs and attempts, whatever was invalid, cut anywhere."""
    runs = list(in_blocks(CELLS, 2, seed=3))
    every = [(key(run), attempt) for run in runs for attempt in (1, 2)]
    judge = doubts(*data.draw(st.lists(st.sampled_from(every), unique=True)))

    def on_from(done: list[RunLine]) -> list[RunLine]:
        done = list(done)
        while to_do := Replay.of(done, judge).remaining([(run,) for run in runs]):
            done.append(line_of(to_do[0][0]))
        return done

    whole = on_from([])
    cut = data.draw(st.integers(0, len(whole)))
    assert on_from(whole[:cut]) == whole
    assert [line.attempt for line in whole[: len(runs)]] == [1] * len(runs)
    again = Counter(key(line) for line in whole[len(runs) :])
    assert again == Counter(key(line) for line in whole[: len(runs)] if judge(line))


def test_attempts_left_over_are_counted_when_a_study_goes_on(plan: Plan, tmp_path: Path) -> None:
    path, doubting = tmp_path / "journal.jsonl", doubts((key(plan.runs[0]), 1))
    count = len(plan.runs)
    stopped = pytest.raises(InterruptedStudyError, match=f"{count} of {count + 1} runs")
    with opened(path) as journal, stopped:
        drive(plan, journal, Pretended(stop_at=count), doubting, Told())
    runs, told = Pretended(), Told()
    with opened(path) as journal:
        drive(plan, journal, runs, doubting, told)
    assert told.began == (count + 1, count)
    assert (runs.done, runs.attempts) == ([plan.runs[0]], [2])


def test_the_judge_of_a_study_says_why(plan: Plan) -> None:
    made = Made(workers=(2,), blocks=1)
    head, run = journal(made)
    assert isinstance(run, RunLine)
    judge = judge_of(study_line(made))
    assert head == study_line(made)
    assert judge(run) is None
    assert judge(with_(run, disturbance__steal_fraction=0.3)) is None  # suspect, and kept
    why = judge(with_(run, disturbance__throttled_s=0.5))
    assert why == "throttled (a CPU quota throttled the run for 0.50 s)"
    assert "crashed" in str(judge(with_(run, outcome="crashed", record=None, signal=11)))


def test_the_last_valid_attempt_is_the_one_that_counts(tmp_path: Path) -> None:
    made = Made(workers=(1,), blocks=2)
    lines = journal(made)
    first = next(line for line in lines if isinstance(line, RunLine) and line.block == 0)
    bad = with_(first, disturbance__throttled_s=1.0)
    again = with_(first, attempt=2)
    lines[lines.index(first)] = bad
    frame = scaling.load(write([*lines, again], tmp_path / "journal.jsonl"))
    assert frame["attempt"].tolist() == [1, 1, 2]
    (curve,) = curves(frame)
    (point,) = curve.points
    assert (point.runs, point.left_out, point.throughput.n) == (2, 1, 2)


def test_progress_says_what_is_run_again_and_counts_it(plan: Plan, tmp_path: Path) -> None:
    printed = io.StringIO()
    with opened(tmp_path / "journal.jsonl") as journal:
        shown = PlainLines(Console(file=printed, width=200))
        drive(plan, journal, Pretended(), doubts((key(plan.runs[1]), 1)), shown)
    lines = printed.getvalue().splitlines()
    count = len(plan.runs)
    again = f"{count + 1}, 1 of them again]"
    assert lines[0].startswith(f"[{count // 2}/{again} block 1 of 2 done")
    assert lines[1] == "  1 run invalid, to be run again at the end: throttled"
    assert lines[2].startswith(f"[{count + 1}/{again} runs measured")


def test_progress_of_a_resumed_study_counts_what_was_run_again_before(
    plan: Plan, tmp_path: Path
) -> None:
    path, doubting = tmp_path / "journal.jsonl", doubts(*[((key(run)), 1) for run in plan.runs[:2]])
    count = len(plan.runs)
    with opened(path) as journal, pytest.raises(InterruptedStudyError):
        drive(plan, journal, Pretended(stop_at=count + 1), doubting, Told())
    printed = io.StringIO()
    with opened(path) as journal:
        drive(plan, journal, Pretended(), doubting, PlainLines(Console(file=printed, width=200)))
    assert f"[{count + 2}/{count + 2}, 2 of them again] runs measured" in printed.getvalue()


def test_the_live_line_gets_longer_by_a_run(plan: Plan, tmp_path: Path) -> None:
    printed = io.StringIO()
    console = Console(file=printed, force_terminal=True, width=200)
    with opened(tmp_path / "journal.jsonl") as journal:
        drive(plan, journal, Pretended(), doubts((key(plan.runs[1]), 1)), LiveLine(console))
    count = len(plan.runs) + 1
    assert f"{count}/{count}, 1 of them again" in printed.getvalue()
    assert "to be run again at the end: throttled" in printed.getvalue()


def test_a_study_without_faults_runs_nothing_again(plan: Plan, tmp_path: Path) -> None:
    runs = Pretended()
    with opened(tmp_path / "journal.jsonl") as journal:
        drive(plan, journal, runs, believes, Told())
    assert set(runs.attempts) == {1}
