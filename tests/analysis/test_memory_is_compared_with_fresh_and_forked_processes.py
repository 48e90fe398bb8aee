"""That threads take less memory is claimed against fresh processes and against forked ones."""

from pathlib import Path

import pytest

from scaling.analysis.comparison.compare import OverProcesses
from scaling.analysis.results import StudyResults
from scaling.journal.record import RunLine
from scaling.report.page.render import page
from scaling.report.tables.comparison import chapters
from scaling.report.tables.export import comparison_rows
from scaling.report.tables.grid import chapters_markdown
from scaling.report.tables.questions.models import PROCESSES
from scaling.report.terminal.answer import Answer
from tests.support.comparisons import place
from tests.support.fabricate import Made, studied, with_

FRESH = ("3.14", "processes", 2)
FORKED = ("3.14", "forked", 2)
THREADS = ("3.14t", "threads", 2)
# Per extra worker 1.3 MiB for threads, 6 for forked processes, 21 for fresh ones.
MADE = Made(
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
def results(tmp_path_factory: pytest.TempPathFactory) -> StudyResults:
    folder = tmp_path_factory.mktemp("study")
    return StudyResults.of(studied(folder, MADE, with_mimalloc_takes_more))


@pytest.fixture
def two(results: StudyResults) -> OverProcesses:
    (compared,) = results.compared
    (found,) = [each for each in compared.over_processes if place(each.of) == THREADS]
    return found


def test_throughput_is_over_the_strongest_processes(
    results: StudyResults, two: OverProcesses
) -> None:
    assert place(two.throughput.over) == FORKED
    assert {each.model for each in two.throughput.among} == {"processes", "forked"}
    assert len(two.throughput.among) == 4
    assert two.throughput.point == pytest.approx(1.75 / 1.8, rel=0.03)
    (compared,) = results.compared
    assert place(compared.ceiling[-1]) == FORKED


def test_memory_is_over_those_of_each_kind_that_need_the_least(
    results: StudyResults, two: OverProcesses
) -> None:
    assert place(two.throughput.over) != FRESH
    assert [place(each.over) for each in two.memory] == [FRESH, FORKED]
    assert {each.memory_kind for each in two.memory} == {"PSS"}
    fresh, forked = two.memory
    for ratio in (fresh, forked):
        assert ratio.blocks.min() <= ratio.point <= ratio.blocks.max() < 1
    assert fresh.point < forked.point
    assert {each.verdict.word for each in (fresh, forked)} == {"less"}


def test_a_study_without_forked_processes_has_the_ratios_that_it_had(tmp_path: Path) -> None:
    """Verdicts, too: a family is not larger because a model exists."""
    models = ("threads", "processes")
    lines = Made(**{**vars(MADE), "models": models})
    study = studied(tmp_path, lines)
    (compared,) = StudyResults.of(study).compared
    per_ratio = [len(each.memory) for each in compared.over_processes]
    assert per_ratio == [1, 1]
    assert "forked" not in chapters_markdown(chapters(StudyResults.of(study)))


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
    answer = " ".join(Answer(results)._figures(80))
    both = "Memory of threads over processes and over forked processes, N = 2: echo · asyncio 0."
    assert both in answer
    assert "MiB (PSS) per extra thread and per extra forked process." in answer


def test_the_kind_of_the_baseline_is_named(results: StudyResults) -> None:
    (compared,) = results.compared
    first = PROCESSES.findings(compared)[0].question
    assert first == (
        "2 threads on 3.14t over 2 forked processes on 3.14 (the better of 3.14 processes, "
        "3.14 forked, 3.14+mimalloc processes and 3.14+mimalloc forked)"
    )


def test_a_worker_that_was_not_forked_after_a_freeze_is_invalid(tmp_path: Path) -> None:
    def change(run: RunLine) -> RunLine:
        if run.cell.model != "forked" or run.block or run.record is None:
            return run
        last = run.record.workers[-1]
        thawed = with_(last, process__gc_frozen=False)
        return with_(run, record__workers=[*run.record.workers[:-1], thawed])

    frame = studied(tmp_path, MADE, change).frame
    found = frame[~frame["valid"]]
    assert set(found["model"]) == {"forked"}
    assert set(found["block"]) == {0}
    assert len(found) == 6
    assert set(map(tuple, found["reasons"])) == {("settings-lost",)}
