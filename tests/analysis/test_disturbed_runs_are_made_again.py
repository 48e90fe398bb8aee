"""A run that other load disturbed is made again at once, within a bounded extra time."""

import io
from collections import Counter
from collections.abc import Collection
from pathlib import Path

import pytest
from rich.console import Console

from scaling.analysis.table.load import busy_judge_of
from scaling.journal.record import RunLine
from scaling.machine.disturbance import crowding
from scaling.run.progress import LiveLine, PlainLines
from scaling.run.session import drive
from scaling.run.time_left import MOST_WAIT_S, SHARE, ExtraTime
from scaling.study.plan.cells import Plan
from tests.analysis.test_precision_adds_blocks_by_a_fixed_rule import enough_at
from tests.analysis.test_resume_is_replay import Pretended, Told, believes, opened, plan
from tests.support.fabricate import Made, journal, study_line, with_

__all__ = ["plan"]  # the fixture

WHY = "other processes took 1.2 of 2 CPUs"


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
        return WHY if self.seen in self._busy_in else None

    def quiet(self, workers: int) -> bool:
        assert workers in (1, 2)
        self.now_s += 0.5
        self._looked += 1
        return self._looked >= self._looks

    def extra(self, share: float = 1.0) -> ExtraTime:
        return ExtraTime(self.busy, self.quiet, lambda: self.now_s, share)


def driven(
    plan: Plan, folder: Path, machine: Machine, share: float = 1.0
) -> tuple[Pretended, Told]:
    runs, told = Pretended(), Told()
    with opened(folder / "journal.jsonl") as opened_journal:
        drive(plan, opened_journal, runs, believes, told, extra=machine.extra(share))
        assert len(opened_journal.runs) == len(runs.done)  # first attempts stay
    return runs, told


def test_the_second_attempt_comes_next(plan: Plan, tmp_path: Path) -> None:
    runs, told = driven(plan, tmp_path, Machine({1}))
    assert runs.done == [*plan.runs[:2], plan.runs[1], *plan.runs[2:]]
    assert runs.attempts[:4] == [1, 1, 2, 1]
    assert told.busy_runs == [(WHY, True)]
    assert [block for block, _ in told.blocks] == [0]


def test_a_block_is_done_when_its_last_run_has_been_made_again(plan: Plan, tmp_path: Path) -> None:
    runs, done_at = Pretended(), []

    class Counting(Told):
        def block_done(self, block: int, text: str) -> None:
            done_at.append((block, len(runs.done)))

    in_a_block = len(plan.every_cell)
    extra = Machine({in_a_block - 1}).extra()
    with opened(tmp_path / "journal.jsonl") as opened_journal:
        drive(plan, opened_journal, runs, believes, Counting(), extra=extra)
    assert runs.attempts[in_a_block] == 2
    assert done_at == [(0, in_a_block + 1)]


def test_a_second_attempt_that_is_disturbed_too_is_kept(plan: Plan, tmp_path: Path) -> None:
    runs, told = driven(plan, tmp_path, Machine({0, 1}))
    assert runs.attempts.count(2) == 1
    assert told.busy_runs == [(WHY, True), (WHY, False)]


def test_the_extra_time_is_bounded(plan: Plan, tmp_path: Path) -> None:
    """On a machine that is always busy a study takes a known share longer, and says so."""
    machine = Machine(range(1000), looks=10**6)
    runs, told = driven(plan, tmp_path, machine, SHARE)
    planned_s = len(plan.runs) * 1.6  # warm-up, window and what is expected beside them
    again_s = 4.0 * runs.attempts.count(2)  # what a pretended run takes
    assert machine.now_s <= SHARE * planned_s + 1
    assert machine.now_s + again_s <= SHARE * planned_s + MOST_WAIT_S + 4.0
    assert [run for run, n in zip(runs.done, runs.attempts, strict=True) if n == 1] == plan.runs
    assert (WHY, False) in told.busy_runs


def test_added_blocks_bring_extra_time_of_their_own(plan: Plan, tmp_path: Path) -> None:
    """Each as much as its runs cost, though the planned blocks have used up theirs."""
    runs, machine = Pretended(), Machine(range(1000), looks=1)
    with opened(tmp_path / "journal.jsonl") as opened_journal:
        drive(plan, opened_journal, runs, believes, Told(), enough_at(4), machine.extra(SHARE * 4))
    again = Counter(run.block for run, n in zip(runs.done, runs.attempts, strict=True) if n == 2)
    assert sum(again[block] for block in (0, 1)) < len(plan.runs)
    assert again[2] >= 1
    assert again[3] >= 1


def test_a_run_that_is_invalid_too_is_made_again_once(plan: Plan, tmp_path: Path) -> None:
    """At once, while the cause is known, and not at the end of the study besides."""
    first = plan.runs[0]
    runs, told = Pretended(), Told()

    def judge(line: RunLine) -> str | None:
        return "not-all-busy" if line.cell == first.cell and line.attempt == 1 else None

    with opened(tmp_path / "journal.jsonl") as opened_journal:
        drive(plan, opened_journal, runs, judge, told, extra=Machine({0}).extra())
    of_first = [n for run, n in zip(runs.done, runs.attempts, strict=True) if run == first]
    assert of_first == [1, 2]
    assert runs.attempts[:2] == [1, 2]


def test_a_second_attempt_that_fails_excludes_nothing(plan: Plan, tmp_path: Path) -> None:
    """The first, valid though disturbed, is in the figures."""
    first, told = plan.runs[0], Told()

    def judge(line: RunLine) -> str | None:
        return "crashed" if line.cell == first.cell and line.attempt == 2 else None

    with opened(tmp_path / "journal.jsonl") as opened_journal:
        drive(plan, opened_journal, Pretended(), judge, told, extra=Machine({0}).extra())
    assert told.busy_runs == [(WHY, True)]
    assert told.invalids == []


def test_the_judge_names_what_others_took() -> None:
    made = Made(workers=(2,), blocks=1)
    _, run = journal(made)
    assert isinstance(run, RunLine)
    judge = busy_judge_of(study_line(made))
    assert judge(run) is None
    assert judge(with_(run, disturbance__other_cpu_fraction=0.6)) == WHY
    stolen = judge(with_(run, disturbance__steal_fraction=0.3))
    assert stolen == "the hypervisor took 30.0% of the CPUs"


def test_quiet_means_a_cpu_for_each_worker() -> None:
    _, run = journal(Made(workers=(2,), blocks=1))
    assert isinstance(run, RunLine)
    assert run.disturbance is not None
    taken = with_(run.disturbance, other_cpu_fraction=0.5)  # two of four CPUs
    assert [crowding(taken, workers, 4) for workers in (1, 2, 3, 4, 8)] == [
        False,
        False,
        True,
        True,
        True,
    ]
    stolen = with_(taken, other_cpu_fraction=0.0, steal_fraction=0.1)
    assert crowding(stolen, 1, 4)


def test_other_programs_may_be_on_cpus_that_are_not_ours() -> None:
    """With an affinity mask or a quota only steal is known to have been ours."""
    _, run = journal(Made(workers=(2,), blocks=1))
    assert isinstance(run, RunLine)
    assert run.disturbance is not None
    taken = with_(run.disturbance, other_cpu_fraction=1.0)
    assert crowding(taken, 1, 4)
    assert not crowding(taken, 1, None)
    assert crowding(with_(taken, steal_fraction=0.1), 1, None)


@pytest.mark.parametrize("live", [False, True])
def test_it_is_said_while_it_happens(plan: Plan, tmp_path: Path, live: bool) -> None:
    printed = io.StringIO()
    console = Console(file=printed, width=200, force_terminal=live)
    shown = LiveLine(console) if live else PlainLines(console)
    with opened(tmp_path / "journal.jsonl") as opened_journal:
        drive(plan, opened_journal, Pretended(), believes, shown, extra=Machine({1}).extra())
    assert f"machine busy ({WHY}): run again when it is quiet" in printed.getvalue()
    assert f"{len(plan.runs) + 1}/{len(plan.runs) + 1}" in printed.getvalue()
