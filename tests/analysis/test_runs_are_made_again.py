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
from scaling.journal.record import DamagedRun, RunLine
from scaling.machine.disturbance import crowding
from scaling.report.output import finish
from scaling.report.view.view import view_of
from scaling.run.progress import PlainLines
from scaling.run.session import InterruptedStudyError, Replay, is_complete
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
    """One that is disturbed, too, is kept."""
    runs, told = driven(plan, tmp_path, extra=Machine({1, 2}).extra())
    assert runs.done == [*plan.runs[:2], plan.runs[1], *plan.runs[2:]]
    assert runs.attempts[:4] == [1, 1, 2, 1]
    assert told.busy_runs == [(WHY_BUSY, True), (WHY_BUSY, False)]
    assert [block for block, _ in told.blocks] == [0]
    with opened(tmp_path / FILE_NAME) as written:
        assert len(written.runs) == len(runs.done)


@pytest.mark.parametrize("failing", [1, 2])
def test_a_run_that_is_disturbed_and_invalid_is_made_again_once(
    failing: int, plan: Plan, tmp_path: Path
) -> None:
    """At once, while the cause is known. Of two attempts one that is valid is in the figures."""
    first = plan.runs[0]
    judge = doubts((first, failing))
    runs, told = driven(plan, tmp_path, judge=judge, extra=Machine({0}).extra())
    assert runs.done.count(first) == 2
    assert runs.attempts[:2] == [1, 2]
    assert told.busy_runs == [(WHY_BUSY, True)]
    assert told.invalids == []


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


def test_judges_name_what_others_took_and_why_a_run_is_invalid() -> None:
    head = FakeStudy(workers=(2,), blocks=1).first_line
    busy, judge = busy_judge_of(head), judge_of(head)
    assert busy(one_run()) is judge(one_run()) is None
    assert busy(one_run(disturbance__other_cpu_fraction=0.6)) == WHY_BUSY
    stolen = one_run(disturbance__steal_fraction=0.3)
    assert busy(stolen) == "the hypervisor took 30.0% of the CPUs"
    assert judge(stolen) is None  # suspect, and kept
    why = judge(one_run(disturbance__throttled_s=0.5))
    assert why == "throttled (a CPU quota throttled the run for 0.50 s)"
    assert "crashed" in str(judge(one_run(outcome="crashed", record=None, signal=11)))


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


def test_an_invalid_run_is_done_again_after_all_others_and_then_given_up(
    plan: Plan, tmp_path: Path
) -> None:
    """Wherever the study was interrupted. Of what is run again progress has the count."""
    first, count = plan.runs[0], len(plan.runs)
    hopeless = doubts(*[(first, attempt) for attempt in range(1, 9)])
    with pytest.raises(InterruptedStudyError, match=f"{count} of {count + 1} runs"):
        driven(plan, tmp_path, Pretended(stop_at=count), hopeless)
    runs, told = driven(plan, tmp_path, judge=hopeless)
    assert told.began == (count + 1, count)
    assert (runs.done, runs.attempts) == ([first], [2])
    assert told.invalids == [("throttled", False)]
    with opened(tmp_path / FILE_NAME) as written:
        assert [run.attempt for run in written.runs] == [1] * count + [2]
        assert Replay.of(written.runs, hopeless).remaining(plan.together(plan.runs)) == []
    printed = io.StringIO()
    driven(plan, tmp_path, judge=hopeless, told=PlainLines(Console(file=printed, width=200)))
    assert f"[{count + 1}/{count + 1}, 1 of them again] runs measured" in printed.getvalue()


@pytest.mark.parametrize("stop_at", [None, 2])
def test_an_invalid_run_waits_while_peaks_are_measured(
    stop_at: int | None, plan: Plan, tmp_path: Path
) -> None:
    """Also in a first block that was interrupted."""
    judge, runs = doubts((plan.runs[0], 1)), Pretended()
    if stop_at:
        with pytest.raises(InterruptedStudyError):
            driven(plan, tmp_path, Pretended(stop_at), judge)
    steps = [("calibration", lambda: None, 1.0)] * 3
    driven(plan, tmp_path, runs, judge, steps=steps, rated=lambda: (plan, runs.together))
    assert runs.done == [*plan.runs[stop_at or 0 :], plan.runs[0]]
    assert runs.attempts == [*[1] * (len(runs.done) - 1), 2]


def test_the_last_valid_attempt_is_the_one_that_counts(tmp_path: Path) -> None:
    made = FakeStudy(workers=(1,), blocks=2)
    first, second = made.runs
    attempts = [with_(first, disturbance__throttled_s=1.0), second, with_(first, attempt=2)]
    study = scaling.read(write([made.first_line, *attempts], tmp_path / FILE_NAME))
    assert study.runs["attempt"].tolist() == [1, 1, 2]
    (cell,) = study.cells.to_dict("records")
    assert (cell["runs"], cell["left_out"]) == (2, 1)
    assert study.estimates.set_index("measure").at["throughput_per_s", "n"] == 2


def test_a_run_whose_ticks_are_damaged_is_made_again_and_counts_once(tmp_path: Path) -> None:
    made = FakeStudy(workers=(1,), blocks=2)
    file = write([made.first_line, *made.runs], tmp_path / FILE_NAME)
    file.write_bytes(file.read_bytes().replace(b'"errors":[0,', b'"errors":[o,', 1))
    first, judge = made.runs[0], judge_of(made.first_line)
    planned = [[PlannedRun(run.block, run.position, run.cell)] for run in made.runs]
    with JournalFile(file) as journal:
        ((again,),) = Replay.of(journal.runs, judge).remaining(planned)
        assert (again.key, again.attempt) == (first.key, 2)
        journal.append(with_(first, attempt=again.attempt))
        assert Replay.of(journal.runs, judge).remaining(planned) == []
    study = scaling.read(file)
    assert study.runs["reasons"].tolist() == [("garbled",), (), ()]
    (cell,) = study.cells.to_dict("records")
    assert (cell["runs"], cell["again"], cell["left_out"]) == (2, 1, 1)
    assert "1 run made again: invalid or disturbed at first." in view_of(study).said(study)


@pytest.mark.parametrize(
    ("damaged", "invalid", "again"),
    [(-1, (1, 3), [3]), (1, (2, 3), [2, 3])],  # an attempt each time it is resumed
    ids=["of the retry", "of the first attempt"],
)
def test_damage_on_disk_does_not_use_up_the_retry(
    damaged: int, invalid: tuple[int, int], again: list[int], plan: Plan, tmp_path: Path
) -> None:
    first, file = plan.runs[0], tmp_path / FILE_NAME
    finds = doubts(*((first, attempt) for attempt in invalid))

    def judge(line: RunLine) -> str | None:
        return "garbled" if isinstance(line, DamagedRun) else finds(line)

    driven(plan, tmp_path, Measured(), judge)
    lines = file.read_bytes().splitlines(keepends=True)
    lines[damaged] = lines[damaged].replace(b'"errors":[0,', b'"errors":[o,', 1)
    file.write_bytes(b"".join(lines))
    for attempt in again:
        runs, _ = driven(plan, tmp_path, Measured(), judge)
        assert (runs.done, runs.attempts) == ([first], [attempt])
    assert driven(plan, tmp_path, Measured(), judge)[0].done == []  # invalid twice


# --- what is said meanwhile ---------------------------------------------------------------------


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
    assert told.counts() == (len(runs.done), len(runs.done), 0)
    written = read_journal(tmp_path)
    assert incomplete(written.frame, written.study) == ""  # complete without it
    alone = Crashing()
    tried(1, tmp_path / "one", alone)
    assert alone.failing == [(0, 1)] * each


@pytest.mark.parametrize("stop_at", [6, 11])
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
    """One run that worked is reason to try all others again."""
    tried(2, tmp_path, Crashing())
    with pytest.raises(ScalingError, match="no run of echo is valid, so there is no figure") as e:
        finish(tmp_path, new_console(quiet=True))
    assert e.value.exit_code == 1
    runs = Crashing(2)
    plan, _ = tried(2, tmp_path / "worked", runs)
    finish(tmp_path / "worked", new_console(quiet=True))
    assert sum(attempt == 2 for _, attempt in runs.failing) == 2 * echoes(plan) - 1
