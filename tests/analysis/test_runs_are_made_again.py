"""A disturbed run is made again at once, an invalid one at the end; the first ones stay on disk.

A workload whose every run has failed is given up.
"""

import io
from pathlib import Path

import pytest
from rich.console import Console

import scaling
from scaling.analysis.extent import incomplete
from scaling.analysis.table.load import busy_judge_of, judge_of, read_journal
from scaling.base.console import new_console
from scaling.base.errors import ScalingError
from scaling.journal.file import FILE_NAME, JournalFile
from scaling.journal.record import RunLine
from scaling.machine.disturbance import crowding
from scaling.report.output import finish
from scaling.run.progress import LiveLine, PlainLines
from scaling.run.session import RETRIES, InterruptedStudyError, Replay, is_complete
from scaling.run.time_left import MOST_WAIT_S, SHARE
from scaling.study.plan.cells import Plan
from scaling.study.plan.order import PlannedRun
from tests.support.driving import (
    RUN_S,
    WHY_BUSY,
    Machine,
    Measured,
    Pretended,
    Told,
    believes,
    doubts,
    driven,
    keys,
    opened,
    small_plan,
)
from tests.support.runs import with_
from tests.support.studies import FakeStudy, write

FAILING = "echo"


@pytest.fixture
def plan() -> Plan:
    return small_plan()


def one_run(**changes: object) -> RunLine:
    (run,) = FakeStudy(workers=(2,), blocks=1).runs
    return with_(run, **changes)


# --- disturbed: at once -------------------------------------------------------------------------


def test_the_second_attempt_comes_next_and_the_first_stays(plan: Plan, tmp_path: Path) -> None:
    runs, told = driven(plan, tmp_path, extra=Machine({1}).extra())
    assert runs.done == [*plan.runs[:2], plan.runs[1], *plan.runs[2:]]
    assert runs.attempts[:4] == [1, 1, 2, 1]
    assert told.busy_runs == [(WHY_BUSY, True)]
    assert [block for block, _ in told.blocks] == [0]
    with opened(tmp_path / FILE_NAME) as written:
        assert len(written.runs) == len(runs.done)


def test_a_block_is_done_when_its_last_run_has_been_made_again(plan: Plan, tmp_path: Path) -> None:
    runs, done_at = Pretended(), []

    class Counting(Told):
        def block_done(self, block: int, text: str) -> None:
            done_at.append((block, len(runs.done)))

    in_a_block = len(plan.slots)
    driven(plan, tmp_path, runs, told=Counting(), extra=Machine({in_a_block - 1}).extra())
    assert runs.attempts[in_a_block] == 2
    assert done_at == [(0, in_a_block + 1)]


def test_a_second_attempt_that_is_disturbed_too_is_kept(plan: Plan, tmp_path: Path) -> None:
    runs, told = driven(plan, tmp_path, extra=Machine({0, 1}).extra())
    assert runs.attempts.count(2) == 1
    assert told.busy_runs == [(WHY_BUSY, True), (WHY_BUSY, False)]


def test_the_extra_time_is_bounded(plan: Plan, tmp_path: Path) -> None:
    """On a machine that is always busy a study takes a known share longer, and says so."""
    machine = Machine(range(1000), looks=10**6)
    runs, told = driven(plan, tmp_path, extra=machine.extra(SHARE))
    planned_s = len(plan.runs) * 1.6  # warm-up, window and what is expected beside them
    again_s = RUN_S * runs.attempts.count(2)
    assert machine.now_s <= SHARE * planned_s + 1
    assert machine.now_s + again_s <= SHARE * planned_s + MOST_WAIT_S + RUN_S
    assert [run for run, n in zip(runs.done, runs.attempts, strict=True) if n == 1] == plan.runs
    assert (WHY_BUSY, False) in told.busy_runs


def test_a_run_that_is_invalid_too_is_made_again_once(plan: Plan, tmp_path: Path) -> None:
    """At once, while the cause is known, and not at the end of the study besides."""
    first = plan.runs[0]
    runs, _ = driven(plan, tmp_path, judge=doubts((first, 1)), extra=Machine({0}).extra())
    assert [n for run, n in zip(runs.done, runs.attempts, strict=True) if run == first] == [1, 2]
    assert runs.attempts[:2] == [1, 2]


def test_a_second_attempt_that_fails_excludes_nothing(plan: Plan, tmp_path: Path) -> None:
    """The first, valid though disturbed, is in the figures."""
    judge = doubts((plan.runs[0], 2))
    _, told = driven(plan, tmp_path, judge=judge, extra=Machine({0}).extra())
    assert told.busy_runs == [(WHY_BUSY, True)]
    assert told.invalids == []


def test_the_judge_names_what_others_took() -> None:
    judge = busy_judge_of(FakeStudy(workers=(2,), blocks=1).first_line)
    assert judge(one_run()) is None
    assert judge(one_run(disturbance__other_cpu_fraction=0.6)) == WHY_BUSY
    stolen = judge(one_run(disturbance__steal_fraction=0.3))
    assert stolen == "the hypervisor took 30.0% of the CPUs"


def test_quiet_means_a_cpu_for_each_worker() -> None:
    """With an affinity mask or a quota (no CPUs given) only steal is known to have been ours."""
    quiet = one_run().disturbance
    assert quiet is not None
    taken = with_(quiet, other_cpu_fraction=0.5)  # two of four CPUs
    assert [crowding(taken, workers, 4) for workers in (1, 2, 3, 4)] == [False, False, True, True]
    stolen = with_(quiet, other_cpu_fraction=0.0, steal_fraction=0.1)
    assert crowding(stolen, 1, 4)
    assert crowding(stolen, 1, None)
    assert not crowding(with_(quiet, other_cpu_fraction=1.0), 1, None)


# --- invalid: at the end ------------------------------------------------------------------------


def test_an_invalid_run_is_done_again_after_all_others(plan: Plan, tmp_path: Path) -> None:
    unlucky = plan.runs[1]
    runs, told = driven(plan, tmp_path, judge=doubts((unlucky, 1)))
    assert runs.done == [*plan.runs, unlucky]
    assert runs.attempts == [1] * len(plan.runs) + [2]
    assert told.invalids == [("throttled", True)]


def test_a_run_that_is_never_valid_is_given_up(plan: Plan, tmp_path: Path) -> None:
    hopeless = doubts(*[(plan.runs[0], attempt) for attempt in range(1, 9)])
    runs, told = driven(plan, tmp_path, judge=hopeless)
    with opened(tmp_path / FILE_NAME) as written:
        assert Replay.of(written.runs, hopeless).remaining(plan.together(plan.runs)) == []
    assert runs.attempts.count(2) == RETRIES == 1
    assert told.invalids == [("throttled", True), ("throttled", False)]


def test_attempts_left_over_are_counted_when_a_study_goes_on(plan: Plan, tmp_path: Path) -> None:
    count, judge = len(plan.runs), doubts((plan.runs[0], 1))
    with pytest.raises(InterruptedStudyError, match=f"{count} of {count + 1} runs"):
        driven(plan, tmp_path, Pretended(stop_at=count), judge)
    runs, told = driven(plan, tmp_path, judge=judge)
    assert told.began == (count + 1, count)
    assert (runs.done, runs.attempts) == ([plan.runs[0]], [2])


def test_the_judge_of_a_study_says_why() -> None:
    judge = judge_of(FakeStudy(workers=(2,), blocks=1).first_line)
    assert judge(one_run()) is None
    assert judge(one_run(disturbance__steal_fraction=0.3)) is None  # suspect, and kept
    why = judge(one_run(disturbance__throttled_s=0.5))
    assert why == "throttled (a CPU quota throttled the run for 0.50 s)"
    assert "crashed" in str(judge(one_run(outcome="crashed", record=None, signal=11)))


def test_the_last_valid_attempt_is_the_one_that_counts(tmp_path: Path) -> None:
    made = FakeStudy(workers=(1,), blocks=2)
    first, second = made.runs
    attempts = [with_(first, disturbance__throttled_s=1.0), second, with_(first, attempt=2)]
    study = scaling.read(write([made.first_line, *attempts], tmp_path / FILE_NAME))
    assert study.runs["attempt"].tolist() == [1, 1, 2]
    (cell,) = study.cells.to_dict("records")
    assert (cell["runs"], cell["left_out"]) == (2, 1)
    assert study.estimates.set_index("measure").at["throughput_per_s", "n"] == 2


# --- what is said meanwhile ---------------------------------------------------------------------


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize(
    ("invalid", "busy", "says"),
    [
        (True, (), "to be run again at the end: throttled"),
        (False, (1,), f"machine busy ({WHY_BUSY}): run again when it is quiet"),
    ],
    ids=["invalid", "disturbed"],
)
def test_progress_says_what_is_run_again_and_counts_it(
    invalid: bool, busy: tuple[int, ...], says: str, live: bool, plan: Plan, tmp_path: Path
) -> None:
    printed, count = io.StringIO(), len(plan.runs) + 1
    console = Console(file=printed, width=200, force_terminal=live)
    shown = LiveLine(console) if live else PlainLines(console)
    judge = doubts((plan.runs[1], 1)) if invalid else believes
    driven(plan, tmp_path, judge=judge, told=shown, extra=Machine(busy).extra())
    text = printed.getvalue()
    assert says in text
    assert f"{count}/{count}, 1 of them again" in text
    if not live:
        first, _, last = text.splitlines()
        assert "] block 1 of 2 done" in first
        assert last.startswith(f"[{count}/{count}, 1 of them again] runs measured")


def test_progress_of_a_resumed_study_counts_what_was_run_again_before(
    plan: Plan, tmp_path: Path
) -> None:
    judge, count = doubts(*[(run, 1) for run in plan.runs[:2]]), len(plan.runs)
    with pytest.raises(InterruptedStudyError):
        driven(plan, tmp_path, Pretended(stop_at=count + 1), judge)
    printed = io.StringIO()
    driven(plan, tmp_path, judge=judge, told=PlainLines(Console(file=printed, width=200)))
    assert f"[{count + 2}/{count + 2}, 2 of them again] runs measured" in printed.getvalue()


# --- always failing: given up -------------------------------------------------------------------


class Crashing(Measured):
    """Measures `compute`; of `echo` only the runs number `works` of those that it was asked for."""

    def __init__(self, *works: int, stop_at: int | None = None) -> None:
        super().__init__(stop_at=stop_at)
        self._works = works

    @property
    def failing(self) -> list[tuple[int, int]]:
        """Block and attempt of the runs of the workload that fails."""
        pairs = zip(self.done, self.attempts, strict=True)
        return [(run.block, attempt) for run, attempt in pairs if run.cell.workload == FAILING]

    def line(self, run: PlannedRun) -> RunLine:
        is_failing = run.cell.workload == FAILING and len(self.failing) not in self._works
        crash = {"outcome": "crashed", "record": None, "signal": 11} if is_failing else {}
        return with_(super().line(run), **crash)


def crashed(line: RunLine) -> str | None:
    return "crashed" if line.outcome == "crashed" else None


def tried(blocks: int, folder: Path, runs: Crashing) -> tuple[Plan, Told]:
    """The plan of a study in which `echo` fails, once it is complete, and what was printed."""
    plan = small_plan(blocks)
    folder.mkdir(exist_ok=True)
    with JournalFile(folder / FILE_NAME) as written:
        if written.head is None:
            head = FakeStudy(variants={"echo": [{}], "compute": [{}]}).first_line
            written.append(with_(head, blocks=blocks, runs_per_block=len(plan.slots)))
    _, told = driven(plan, folder, runs, crashed)
    with JournalFile(folder / FILE_NAME) as written:
        assert is_complete(plan, written.runs, crashed)
    return plan, told


def echoes(plan: Plan) -> int:
    """How many runs of the failing workload a block has."""
    return sum(cell.workload == FAILING for cell, _ in plan.slots)


def test_it_is_run_in_two_blocks_and_no_more(tmp_path: Path) -> None:
    runs = Crashing()
    plan, told = tried(4, tmp_path, runs)
    each = echoes(plan)
    assert sorted(runs.failing) == [(0, 1)] * each + [(1, 1)] * each
    assert {run.block for run in runs.done if run.cell.workload != FAILING} == {0, 1, 2, 3}
    left_out = 2 * each + 2 * each  # of the blocks after these; and what was to be made again
    assert told.notes == [f"echo: every run failed; {left_out} more runs of it will not be made"]
    assert told.added == [-left_out]
    written = read_journal(tmp_path)
    assert incomplete(written.frame, written.study) == ""  # complete without it


def test_a_study_of_one_block_does_not_make_it_again(tmp_path: Path) -> None:
    runs = Crashing()
    plan, _ = tried(1, tmp_path, runs)
    assert runs.failing == [(0, 1)] * echoes(plan)


def test_one_run_that_worked_is_reason_to_try_all_others_again(tmp_path: Path) -> None:
    runs = Crashing(2)
    plan, _ = tried(3, tmp_path, runs)
    assert runs.failing.count((2, 1)) == echoes(plan)
    assert sum(attempt == 2 for _, attempt in runs.failing) == 3 * echoes(plan) - 1


@pytest.mark.parametrize("stop_at", [1, 6, 11])
def test_it_is_given_up_wherever_the_study_was_interrupted(stop_at: int, tmp_path: Path) -> None:
    whole, first, second = Crashing(), Crashing(stop_at=stop_at), Crashing()
    tried(4, tmp_path / "whole", whole)
    with pytest.raises(InterruptedStudyError):
        tried(4, tmp_path / "cut", first)
    tried(4, tmp_path / "cut", second)
    assert keys(first.done + second.done) == keys(whole.done)
    assert first.attempts + second.attempts == whole.attempts


@pytest.mark.usefixtures("undrawn")
def test_the_command_ends_with_exit_code_1_and_names_it(tmp_path: Path) -> None:
    tried(2, tmp_path, Crashing())
    with pytest.raises(ScalingError, match="no run of echo is valid, so there is no figure") as e:
        finish(tmp_path, new_console(quiet=True))
    assert e.value.exit_code == 1
    tried(2, tmp_path / "worked", Crashing(2))
    finish(tmp_path / "worked", new_console(quiet=True))
