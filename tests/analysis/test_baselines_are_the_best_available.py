"""Threads are compared with the faster processes, and break-even with the fastest single one."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from scaling.analysis.comparison.baseline import baseline_ratios, ceiling
from scaling.analysis.comparison.break_even import BreakEven, break_evens
from scaling.analysis.comparison.paired import Configuration, Paired, paired
from scaling.analysis.table.load import read_journal
from scaling.journal.record import RunLine
from tests.support.fabricate import Made, journal, with_, write
from tests.support.verdicts import verdicts

ARMS = ("3.14", "3.14+mimalloc", "3.14t")
BOTH = ("threads", "processes")
type Speeds = Mapping[tuple[str, str, int], float]

SPEEDS: Speeds = {
    ("3.14", "processes", 1): 1.0,
    ("3.14+mimalloc", "processes", 1): 0.8,
    ("3.14", "processes", 2): 1.5,
    ("3.14+mimalloc", "processes", 2): 1.6,
    ("3.14", "threads", 1): 1.05,
    ("3.14+mimalloc", "threads", 1): 0.7,
    ("3.14t", "threads", 1): 0.9,
    ("3.14t", "threads", 2): 1.76,
}


def runs_of(tmp_path: Path, made: Made, change: object = None) -> Paired:
    lines = journal(made, change)  # type: ignore[arg-type]
    study = read_journal(write(lines, tmp_path / "journal.jsonl"))
    (runs,) = paired(study.frame, study.study)
    return runs


def exact(speeds: Speeds = SPEEDS, **others: object) -> Made:
    made = {"arms": ARMS, "models": BOTH, "workers": (1, 2), "noise": 0, "tick_noise": 0}
    return Made(**(made | {"speeds": speeds} | others))  # type: ignore[arg-type]


def test_the_better_processes_are_taken_at_each_n(tmp_path: Path) -> None:
    runs = runs_of(tmp_path, exact())
    one, two = baseline_ratios(runs).judged()
    assert one.theirs == Configuration("3.14", "processes", 1)
    assert two.theirs == Configuration("3.14+mimalloc", "processes", 2)
    assert [configuration.arm for configuration in two.among] == ["3.14", "3.14+mimalloc"]
    assert one.throughput.point == pytest.approx(0.9, rel=1e-3)
    assert two.throughput.point == pytest.approx(1.76 / 1.6, rel=1e-3)
    ((over, ratio),) = two.memory
    assert over == (two.theirs, "PSS")
    memory = runs.of(two.ours, "PSS") / runs.of(two.theirs, "PSS")
    assert memory.min() <= ratio.point <= memory.max() < 1
    # the same CPU time in every run: CPU per operation is the other way round
    assert two.cpu_s_per_op.point == pytest.approx(1.6 / 1.76, rel=2e-3)
    assert ceiling(runs) == [one.theirs, two.theirs]


def test_invalid_runs_choose_nothing(tmp_path: Path) -> None:
    def change(run: RunLine) -> RunLine:
        better = (run.cell.arm, run.cell.model) == ("3.14+mimalloc", "processes")
        return with_(run, disturbance__throttled_s=0.5) if better else run

    _, two = baseline_ratios(runs_of(tmp_path, exact(), change)).judged()
    assert two.theirs.arm == "3.14"
    assert [configuration.arm for configuration in two.among] == ["3.14"]


@pytest.mark.parametrize("blank", ["threads", "processes"])
def test_memory_is_of_one_kind_on_both_sides(tmp_path: Path, blank: str) -> None:
    """PSS is 0.9 of RSS in what is fabricated: PSS over RSS would show."""

    def change(run: RunLine) -> RunLine:
        return with_(run, memory__pss_bytes=None) if run.cell.model == blank else run

    *_, with_pss = baseline_ratios(runs_of(tmp_path, exact())).judged()
    *_, without = baseline_ratios(runs_of(tmp_path, exact(), change)).judged()
    (pss,), (rss,) = with_pss.memory, without.memory
    assert (pss.over.kind, rss.over.kind) == ("PSS", "RSS")
    assert rss.ratio.point == pytest.approx(pss.ratio.point, rel=1e-3)


def test_interpreters_are_compared_with_processes_too(tmp_path: Path) -> None:
    models = ("threads", "processes", "interpreters")
    found = baseline_ratios(
        runs_of(tmp_path, Made(arms=ARMS, models=models, workers=(2,)))
    ).judged()
    assert [(each.ours.arm, each.ours.model) for each in found] == [
        ("3.14t", "threads"),
        *((arm, "interpreters") for arm in ARMS),
    ]
    assert {each.theirs for each in found} == {Configuration("3.14+mimalloc", "processes", 2)}


def test_without_the_gil_builds_an_arm_is_its_own_baseline(tmp_path: Path) -> None:
    one, _ = baseline_ratios(
        runs_of(tmp_path, Made(arms=("3.14t",), models=BOTH, workers=(1, 2)))
    ).judged()
    assert one.theirs == Configuration("3.14t", "processes", 1)


def test_threads_over_processes_is_primary_and_all_else_is_explored(tmp_path: Path) -> None:
    """However much is explored beside it, the primary verdict is the one it would be alone."""
    made = Made(arms=ARMS, models=(*BOTH, "interpreters"), workers=(2,), blocks=8)
    runs = runs_of(tmp_path, made)
    threads, *others = baseline_ratios(runs).judged()
    assert threads.throughput.verdict.word == "slower"
    assert threads.cpu_s_per_op.verdict.word == "more"
    (memory,) = threads.memory
    assert memory.ratio.verdict.word == "less"
    ratios = runs.ratios(threads.ours, threads.theirs, "throughput")
    (alone,) = verdicts([ratios], [0.02])
    assert len(others) == len(ARMS)
    assert threads.throughput.verdict == alone
    explored = [threads.cpu_s_per_op, memory.ratio, *(each.throughput for each in others)]
    assert {each.verdict.family for each in explored} == {"exploratory"}


def break_even(tmp_path: Path, speeds: Speeds, **others: object) -> BreakEven:
    (found,) = break_evens(runs_of(tmp_path, exact(speeds, **others))).judged()
    return found


def test_break_even_is_over_the_best_single_worker(tmp_path: Path) -> None:
    found = break_even(tmp_path, SPEEDS, blocks=8, noise=0.005)
    assert found.single == Configuration("3.14", "threads", 1)
    assert len(found.among) == 4
    assert (found.at, found.outcome) == (2, "reached")
    assert found.ratios[1].point == pytest.approx(0.9 / 1.05, rel=0.02)
    assert [ratio.verdict.word for ratio in found.ratios.values()] == ["slower", "faster"]


@pytest.mark.parametrize(("speed", "word"), [(0.95, "slower"), (1.05, "same")])
def test_break_even_may_never_come(tmp_path: Path, speed: float, word: str) -> None:
    """Threads that are as fast as a single process have not beaten it either."""
    slow = {**SPEEDS, ("3.14t", "threads", 2): speed}
    found = break_even(tmp_path, slow, blocks=8)
    assert (found.at, found.outcome, found.undecided) == (None, "never", [])
    assert found.ratios[2].verdict.word == word


def test_a_verdict_may_be_inconclusive(tmp_path: Path) -> None:
    level = {**SPEEDS, ("3.14t", "threads", 1): 1.05, ("3.14t", "threads", 2): 1.05}
    found = break_even(tmp_path, level, blocks=8, noise=0.05)
    assert (found.at, found.outcome, found.undecided) == (None, "inconclusive", [1, 2])


@pytest.mark.parametrize("blocks", [1, 3, 5])
def test_few_blocks_decide_nothing(tmp_path: Path, blocks: int) -> None:
    found = break_even(tmp_path, SPEEDS, blocks=blocks)
    assert (found.outcome, found.undecided) == ("inconclusive", [1, 2])


def test_there_is_none_without_a_single_worker(tmp_path: Path) -> None:
    assert break_evens(runs_of(tmp_path, exact(workers=(2,)))).judged() == []
    assert break_evens(runs_of(tmp_path, exact(arms=("3.14t",)))).judged() == []
