"""Each figure of threads is over the processes that are best at it, memory over each kind.

Break-even is over the fastest single worker."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from scaling.analysis.comparison import break_even, break_evens
from scaling.analysis.ratios import Ratio
from scaling.analysis.results import StudyResults
from scaling.analysis.table.run_fields import KERNELS_PSS
from scaling.journal.record import RunLine
from scaling.report.page.render import page
from scaling.report.tables.comparison import chapters
from scaling.report.tables.export import comparison_rows
from scaling.report.tables.grid import chapters_markdown
from scaling.report.tables.models import PROCESSES, break_even_note
from scaling.report.terminal.answer import answer_lines
from tests.support.runs import changing_ticks, throttled, with_
from tests.support.studies import FakeStudy, place

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


def exact(speeds: Speeds = SPEEDS, **others: object) -> FakeStudy:
    made = {"arms": ARMS, "models": BOTH, "workers": (1, 2), "noise": 0, "tick_noise": 0}
    return FakeStudy(**(made | {"speeds": speeds} | others))  # type: ignore[arg-type]


def test_the_better_processes_are_taken_at_each_n() -> None:
    runs = exact().compared
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


def test_what_is_fastest_may_need_more_cpu_time_and_memory() -> None:
    """Two processes on 3.14+mimalloc are the fastest; those on 3.14 need less of all else."""

    def change(run: RunLine) -> RunLine:
        if (run.cell.arm, run.cell.model) != ("3.14+mimalloc", "processes"):
            return run
        twice = changing_ticks(
            lambda its: with_(its, cpu_ns=[2 * (ns or 0) for ns in its.cpu_ns or ()])
        )
        return with_(twice(run), memory__pss_bytes=2 * (run.memory.pss_bytes or 0))

    _, two = replace(exact(), change=change).compared.over_processes
    assert place(two.throughput.over) == ("3.14+mimalloc", "processes", 2)
    (memory,) = two.memory
    for ratio in (two.cpu, memory):
        assert ratio is not None
        assert place(ratio.over) == ("3.14", "processes", 2)
        assert ratio.blocks.min() <= ratio.point <= ratio.blocks.max()
    assert two.cpu is not None
    assert two.cpu.point == pytest.approx(1.5 / 1.76, rel=2e-3)


def test_invalid_runs_choose_nothing() -> None:
    def change(run: RunLine) -> RunLine:
        better = (run.cell.arm, run.cell.model) == ("3.14+mimalloc", "processes")
        return throttled(run) if better else run

    _, two = replace(exact(), change=change).compared.over_processes
    assert two.throughput.over.arm == "3.14"
    assert [each.arm for each in two.throughput.among] == ["3.14"]


@pytest.mark.parametrize("blank", ["threads", "processes"])
def test_memory_is_of_one_kind_on_both_sides(blank: str) -> None:
    """PSS is 0.9 of RSS in what is fabricated: PSS over RSS would show."""

    def change(run: RunLine) -> RunLine:
        return with_(run, memory__pss_bytes=None) if run.cell.model == blank else run

    *_, with_pss = exact().compared.over_processes
    *_, without = replace(exact(), change=change).compared.over_processes
    (pss,), (rss,) = with_pss.memory, without.memory
    assert (pss.memory_kind, rss.memory_kind) == ("PSS", "RSS")
    assert rss.point == pytest.approx(pss.point, rel=1e-3)


def test_the_kernels_pss_of_old_journals_is_not_compared() -> None:
    """It divides a page by all programs of the machine that map it."""
    results = exact(head={"scaling": KERNELS_PSS}).results
    assert results.frame["pss_bytes"].isna().all()
    (compared,) = results.compared
    assert [each.memory_kind for two in compared.over_processes for each in two.memory] == [
        "RSS"
    ] * 2


def test_interpreters_are_compared_with_processes_too() -> None:
    models = ("threads", "processes", "interpreters")
    found = FakeStudy(arms=ARMS, models=models, workers=(2,)).compared.over_processes
    assert [(each.of.arm, each.of.model) for each in found] == [
        ("3.14t", "threads"),
        *((arm, "interpreters") for arm in ARMS),
    ]
    assert {place(each.throughput.over) for each in found} == {("3.14+mimalloc", "processes", 2)}


def test_without_the_gil_builds_an_arm_is_its_own_baseline() -> None:
    one, _ = FakeStudy(arms=("3.14t",), models=BOTH, workers=(1, 2)).compared.over_processes
    assert place(one.throughput.over) == ("3.14t", "processes", 1)


def over_one(speeds: Speeds, **others: object) -> list[Ratio]:
    (found,) = break_evens(exact(speeds, **others).compared)
    return found


def test_break_even_is_over_the_best_single_worker() -> None:
    found = over_one(SPEEDS, blocks=8, noise=0.005)
    assert place(found[0].over) == ("3.14", "threads", 1)
    assert len(found[0].among) == 4
    assert break_even(found) is found[1]
    assert found[0].point == pytest.approx(0.9 / 1.05, rel=0.02)
    assert [ratio.verdict.word for ratio in found] == ["slower", "faster"]


@pytest.mark.parametrize(
    ("speeds", "study", "note"),
    [
        ({2: 0.95}, {}, "not reached up to N = 2"),
        ({2: 1.05}, {}, "not reached up to N = 2"),  # as fast as a single process is not faster
        (
            {1: 1.05, 2: 1.05},
            {"noise": 0.05},
            "inconclusive up to N = 2, undecided at N = 1 and 2",
        ),
        ({}, {"blocks": 5}, "inconclusive up to N = 2"),
    ],
)
def test_break_even_may_never_come_or_not_be_decided(
    speeds: dict[int, float], study: dict[str, float], note: str
) -> None:
    of_threads = {("3.14t", "threads", n): speed for n, speed in speeds.items()}
    found = over_one({**SPEEDS, **of_threads}, **{"blocks": 8, **study})
    assert break_even(found) is None
    assert break_even_note(found) == f"Break-even: {note}."


def test_there_is_none_without_a_single_worker() -> None:
    assert break_evens(exact(workers=(2,)).compared) == []
    assert break_evens(exact(arms=("3.14t",)).compared) == []


TWO_FRESH = ("3.14", "processes", 2)
TWO_FORKED = ("3.14", "forked", 2)
TWO_THREADS = ("3.14t", "threads", 2)
# Per extra worker 1.3 MiB for threads, 6 for forked processes, 21 for fresh ones.
THREE_KINDS = FakeStudy(
    arms=("3.14", "3.14+mimalloc", "3.14t"),
    models=("threads", "processes", "forked"),
    workers=(1, 2),
    blocks=8,
    speeds={
        ("3.14", "processes", 2): 1.5,
        ("3.14+mimalloc", "processes", 2): 1.6,
        ("3.14", "forked", 2): 1.8,
        ("3.14+mimalloc", "forked", 2): 1.7,
        ("3.14t", "threads", 2): 1.75,
    },
)


def with_mimalloc_takes_more(run: RunLine) -> RunLine:
    """The fastest fresh processes are not those that need the least memory."""
    if run.cell.arm != "3.14+mimalloc":
        return run
    return with_(run, memory__pss_bytes=round(1.05 * (run.memory.pss_bytes or 0)))


@pytest.fixture(scope="module")
def results() -> StudyResults:
    return replace(THREE_KINDS, change=with_mimalloc_takes_more).results


def test_memory_is_over_those_of_each_kind_that_need_the_least(results: StudyResults) -> None:
    (compared,) = results.compared
    (two,) = [each for each in compared.over_processes if place(each.of) == TWO_THREADS]
    assert place(two.throughput.over) == place(compared.ceiling[-1]) == TWO_FORKED
    assert {each.model for each in two.throughput.among} == {"processes", "forked"}
    assert two.throughput.point == pytest.approx(1.75 / 1.8, rel=0.03)
    assert [place(each.over) for each in two.memory] == [TWO_FRESH, TWO_FORKED]
    assert {each.memory_kind for each in two.memory} == {"PSS"}
    fresh, forked = two.memory
    assert fresh.point < forked.point < 1
    assert {each.verdict.word for each in (fresh, forked)} == {"less"}
    assert PROCESSES.findings(compared)[0].question == (
        "2 threads on 3.14t over 2 forked processes on 3.14 (the better of 3.14 processes, "
        "3.14 forked, 3.14+mimalloc processes and 3.14+mimalloc forked)"
    )


def test_a_study_without_forked_processes_has_the_ratios_that_it_had() -> None:
    """Verdicts, too: a family is not larger because a model exists."""
    results = replace(THREE_KINDS, models=("threads", "processes")).results
    (compared,) = results.compared
    per_ratio = [len(each.memory) for each in compared.over_processes]
    assert per_ratio == [1, 1]
    assert "forked" not in chapters_markdown(chapters(results))


@pytest.mark.usefixtures("unrendered")
def test_rows_tables_page_and_terminal_have_both(results: StudyResults) -> None:
    rows = comparison_rows(results)
    memory = rows[(rows["measure"] == "memory") & (rows["workers"] == 2)]
    assert memory["over_model"].tolist() == ["processes", "forked"]
    text = chapters_markdown(chapters(results))
    assert "| N | ours | over | throughput | CPU per op | memory |" in text
    assert "MiB (PSS) per extra worker" in text
    of_answer = "… memory (PSS) over 2 processes on", "… memory (PSS) over 2 forked processes on"
    assert all(each in text for each in of_answer)
    shown = page(results)
    assert all(each.removeprefix("… ") in shown for each in of_answer)
    answer = " ".join(answer_lines(results))
    both = "Memory of threads over processes and over forked processes, N = 2: echo · asyncio 0."
    assert both in answer
    assert "MiB (PSS) per extra thread and per extra forked process." in answer
