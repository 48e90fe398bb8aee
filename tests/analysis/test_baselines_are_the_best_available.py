"""Each figure of threads is compared with the processes that are best at it.

Break-even is over the fastest single worker.
"""

from collections.abc import Mapping
from pathlib import Path

import pytest

from scaling.analysis.comparison.ladder import BreakEven, break_evens
from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import read_journal
from scaling.analysis.table.run_fields import KERNELS_PSS
from scaling.journal.record import RunLine
from tests.support.comparisons import compared_in, place
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


def exact(speeds: Speeds = SPEEDS, **others: object) -> Made:
    made = {"arms": ARMS, "models": BOTH, "workers": (1, 2), "noise": 0, "tick_noise": 0}
    return Made(**(made | {"speeds": speeds} | others))  # type: ignore[arg-type]


def test_the_better_processes_are_taken_at_each_n(tmp_path: Path) -> None:
    runs = compared_in(tmp_path, exact())
    one, two = runs.over_processes
    assert place(one.throughput.over) == ("3.14", "processes", 1)
    assert place(two.throughput.over) == ("3.14+mimalloc", "processes", 2)
    assert [each.arm for each in two.throughput.among] == ["3.14", "3.14+mimalloc"]
    assert one.throughput.point == pytest.approx(0.9, rel=1e-3)
    assert two.throughput.point == pytest.approx(1.76 / 1.6, rel=1e-3)
    (memory,) = two.memory
    assert memory.memory_kind == "PSS"
    assert memory.blocks.min() <= memory.point <= memory.blocks.max() < 1
    assert two.cpu is not None
    # the same CPU time in every run: CPU per operation is the other way round
    assert two.cpu.over == two.throughput.over
    assert two.cpu.point == pytest.approx(1.6 / 1.76, rel=2e-3)
    assert runs.ceiling == [one.throughput.over, two.throughput.over]


def test_what_is_fastest_may_need_more_cpu_time_and_memory(tmp_path: Path) -> None:
    """Two processes on 3.14+mimalloc are the fastest; those on 3.14 need less of all else."""

    def change(run: RunLine) -> RunLine:
        if (run.cell.arm, run.cell.model) != ("3.14+mimalloc", "processes") or run.record is None:
            return run
        workers = [
            with_(each, ticks__cpu_ns=[2 * (used or 0) for used in each.ticks.cpu_ns or ()])
            for each in run.record.workers
        ]
        memory = 2 * (run.memory.pss_bytes or 0)
        return with_(run, record__workers=workers, memory__pss_bytes=memory)

    _, two = compared_in(tmp_path, exact(), change).over_processes
    assert place(two.throughput.over) == ("3.14+mimalloc", "processes", 2)
    (memory,) = two.memory
    for ratio in (two.cpu, memory):
        assert ratio is not None
        assert place(ratio.over) == ("3.14", "processes", 2)
        assert ratio.blocks.min() <= ratio.point <= ratio.blocks.max()
    assert two.cpu is not None
    assert two.cpu.point == pytest.approx(1.5 / 1.76, rel=2e-3)


def test_invalid_runs_choose_nothing(tmp_path: Path) -> None:
    def change(run: RunLine) -> RunLine:
        better = (run.cell.arm, run.cell.model) == ("3.14+mimalloc", "processes")
        return with_(run, disturbance__throttled_s=0.5) if better else run

    _, two = compared_in(tmp_path, exact(), change).over_processes
    assert two.throughput.over.arm == "3.14"
    assert [each.arm for each in two.throughput.among] == ["3.14"]


@pytest.mark.parametrize("blank", ["threads", "processes"])
def test_memory_is_of_one_kind_on_both_sides(tmp_path: Path, blank: str) -> None:
    """PSS is 0.9 of RSS in what is fabricated: PSS over RSS would show."""

    def change(run: RunLine) -> RunLine:
        return with_(run, memory__pss_bytes=None) if run.cell.model == blank else run

    *_, with_pss = compared_in(tmp_path, exact()).over_processes
    *_, without = compared_in(tmp_path, exact(), change).over_processes
    (pss,), (rss,) = with_pss.memory, without.memory
    assert (pss.memory_kind, rss.memory_kind) == ("PSS", "RSS")
    assert rss.point == pytest.approx(pss.point, rel=1e-3)


def test_the_kernels_pss_of_old_journals_is_not_compared(tmp_path: Path) -> None:
    """It divides a page by all programs of the machine that map it."""
    head, *lines = journal(exact())
    old = write([with_(head, scaling=KERNELS_PSS), *lines], tmp_path / "journal.jsonl")
    results = StudyResults.of(read_journal(old))
    assert results.frame["pss_bytes"].isna().all()
    (compared,) = results.compared
    assert [each.memory_kind for two in compared.over_processes for each in two.memory] == [
        "RSS"
    ] * 2


def test_interpreters_are_compared_with_processes_too(tmp_path: Path) -> None:
    models = ("threads", "processes", "interpreters")
    found = compared_in(tmp_path, Made(arms=ARMS, models=models, workers=(2,))).over_processes
    assert [(each.of.arm, each.of.model) for each in found] == [
        ("3.14t", "threads"),
        *((arm, "interpreters") for arm in ARMS),
    ]
    assert {place(each.throughput.over) for each in found} == {("3.14+mimalloc", "processes", 2)}


def test_without_the_gil_builds_an_arm_is_its_own_baseline(tmp_path: Path) -> None:
    one, _ = compared_in(
        tmp_path, Made(arms=("3.14t",), models=BOTH, workers=(1, 2))
    ).over_processes
    assert place(one.throughput.over) == ("3.14t", "processes", 1)


def test_threads_over_processes_is_primary_and_all_else_is_explored(tmp_path: Path) -> None:
    """However much is explored beside it, the primary verdict is the one it would be alone."""
    made = Made(arms=ARMS, models=(*BOTH, "interpreters"), workers=(2,), blocks=8)
    runs = compared_in(tmp_path, made)
    threads, *others = runs.over_processes
    assert threads.throughput.verdict.word == "slower"
    assert threads.cpu is not None
    assert threads.cpu.verdict.word == "more"
    (memory,) = threads.memory
    assert memory.verdict.word == "less"
    (alone,) = verdicts([threads.throughput.blocks], [0.02])
    assert len(others) == len(ARMS)
    assert threads.throughput.verdict == alone
    explored = [threads.cpu, memory, *(each.throughput for each in others)]
    assert {each.verdict.family for each in explored} == {"exploratory"}


def break_even(tmp_path: Path, speeds: Speeds, **others: object) -> BreakEven:
    (found,) = break_evens(compared_in(tmp_path, exact(speeds, **others)))
    return found


def test_break_even_is_over_the_best_single_worker(tmp_path: Path) -> None:
    found = break_even(tmp_path, SPEEDS, blocks=8, noise=0.005)
    assert place(found.ratios[0].over) == ("3.14", "threads", 1)
    assert len(found.ratios[0].among) == 4
    assert found.at is found.ratios[1]
    assert found.outcome == "reached"
    assert found.ratios[0].point == pytest.approx(0.9 / 1.05, rel=0.02)
    assert [ratio.verdict.word for ratio in found.ratios] == ["slower", "faster"]


@pytest.mark.parametrize(("speed", "word"), [(0.95, "slower"), (1.05, "same")])
def test_break_even_may_never_come(tmp_path: Path, speed: float, word: str) -> None:
    """Threads that are as fast as a single process have not beaten it either."""
    slow = {**SPEEDS, ("3.14t", "threads", 2): speed}
    found = break_even(tmp_path, slow, blocks=8)
    assert (found.at, found.outcome, found.undecided) == (None, "never", [])
    assert found.ratios[1].verdict.word == word


def test_a_verdict_may_be_inconclusive(tmp_path: Path) -> None:
    level = {**SPEEDS, ("3.14t", "threads", 1): 1.05, ("3.14t", "threads", 2): 1.05}
    found = break_even(tmp_path, level, blocks=8, noise=0.05)
    assert (found.at, found.outcome, found.undecided) == (None, "inconclusive", [1, 2])


@pytest.mark.parametrize("blocks", [1, 3, 5])
def test_few_blocks_decide_nothing(tmp_path: Path, blocks: int) -> None:
    found = break_even(tmp_path, SPEEDS, blocks=blocks)
    assert (found.outcome, found.undecided) == ("inconclusive", [1, 2])


def test_there_is_none_without_a_single_worker(tmp_path: Path) -> None:
    assert break_evens(compared_in(tmp_path, exact(workers=(2,)))) == []
    assert break_evens(compared_in(tmp_path, exact(arms=("3.14t",)))) == []
