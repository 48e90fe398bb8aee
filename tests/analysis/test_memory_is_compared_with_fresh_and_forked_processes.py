"""That threads take less memory is claimed against fresh processes and against forked ones."""

from pathlib import Path

import pytest

from scaling.analysis.comparison.baseline import BaselineRatio, baseline_ratios, ceiling
from scaling.analysis.comparison.paired import Configuration
from scaling.analysis.results import StudyResults
from scaling.journal.record import RunLine
from scaling.report.page.render import page
from scaling.report.tables.comparison import chapters
from scaling.report.tables.comparison_rows import comparison_rows
from scaling.report.tables.comparison_view import comparison_markdown
from scaling.report.tables.questions.processes import QUESTION
from scaling.report.terminal.answer import Answer
from tests.support.fabricate import Made, studied, with_

FRESH = Configuration("3.14+mimalloc", "processes", 2)
FORKED = Configuration("3.14", "forked", 2)
THREADS = Configuration("3.14t", "threads", 2)
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


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> StudyResults:
    return StudyResults.of(studied(tmp_path_factory.mktemp("study"), MADE))


@pytest.fixture
def two(results: StudyResults) -> BaselineRatio:
    (compared,) = results.compared
    (found,) = [each for each in compared.baseline_ratios if each.ours == THREADS]
    return found


def test_throughput_is_over_the_strongest_processes(
    results: StudyResults, two: BaselineRatio
) -> None:
    assert two.theirs == FORKED
    assert {each.model for each in two.among} == {"processes", "forked"}
    assert len(two.among) == 4
    assert two.throughput.point == pytest.approx(1.75 / 1.8, rel=0.03)
    (compared,) = results.compared
    assert ceiling(compared.runs)[-1] == FORKED


def test_memory_is_over_the_fastest_of_each_kind(results: StudyResults, two: BaselineRatio) -> None:
    (compared,) = results.compared
    runs = compared.runs
    assert [each.over for each in two.memory] == [(FRESH, "PSS"), (FORKED, "PSS")]
    fresh, forked = (each.ratio for each in two.memory)
    for theirs, ratio in ((FRESH, fresh), (FORKED, forked)):
        every = runs.of(THREADS, "PSS") / runs.of(theirs, "PSS")
        assert every.min() <= ratio.point <= every.max() < 1
    assert fresh.point < forked.point
    assert {each.verdict.word for each in (fresh, forked)} == {"less"}


def test_a_study_without_forked_processes_has_the_ratios_that_it_had(tmp_path: Path) -> None:
    """Verdicts, too: a family is not larger because a model exists."""
    models = ("threads", "processes")
    lines = Made(**{**vars(MADE), "models": models})
    study = studied(tmp_path, lines)
    (compared,) = StudyResults.of(study).compared
    per_ratio = [len(each.memory) for each in baseline_ratios(compared.runs).judged()]
    assert per_ratio == [1, 1]
    assert "forked" not in comparison_markdown(chapters(StudyResults.of(study)))


@pytest.mark.usefixtures("unrendered")
def test_rows_tables_page_and_terminal_have_both(results: StudyResults) -> None:
    rows = comparison_rows(results)
    memory = rows[(rows["measure"] == "memory") & (rows["workers"] == 2)]
    assert memory["over_model"].tolist() == ["processes", "forked"]
    text = comparison_markdown(chapters(results))
    assert "| memory over processes | memory over forked |" in text
    assert "| threads, RSS | processes, PSS | forked, PSS |" in text
    of_answer = "… memory (PSS) over 2 processes on", "… memory (PSS) over 2 forked processes on"
    assert all(each in text for each in of_answer)
    shown = page(results)
    assert all(each in shown for each in of_answer)
    answer = " ".join(Answer(results)._figures(80))
    both = "Memory of threads over processes and over forked processes, N = 2: echo · asyncio 0."
    assert both in answer
    assert answer.index(both) < answer.index("per extra thread")


def test_the_kind_of_the_baseline_is_named(results: StudyResults) -> None:
    (compared,) = results.compared
    first = QUESTION.findings(compared)[0].question
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
