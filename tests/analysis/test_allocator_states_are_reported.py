"""A ratio of runs in different allocator states says so; mimalloc has no such states."""

from pathlib import Path

import pytest

from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import Journal
from scaling.journal.record import RunLine
from scaling.report.tables.comparison import chapters
from scaling.report.tables.export import comparison_rows, markdown, summary
from scaling.report.tables.grid import chapters_markdown
from tests.support.comparisons import place
from tests.support.fabricate import Made, studied, with_

MADE = Made(arms=("3.14", "3.14t"), models=("interpreters", "processes"), workers=(1, 2))


def keeping(run: RunLine) -> RunLine:
    """The interpreters at N = 2 keep their memory; all else on 3.14 maps it anew."""
    cell = run.cell
    if run.record is None or (cell.model, cell.workers) != ("interpreters", 2):
        return run
    workers = [
        with_(each, ticks__minor_faults=[900] * len(each.ticks.time_ns))
        for each in run.record.workers
    ]
    return with_(run, record__workers=workers)


@pytest.fixture
def study(tmp_path: Path) -> Journal:
    return studied(tmp_path, MADE, keeping)


def test_every_cell_bears_its_state(study: Journal) -> None:
    rows = summary(StudyResults.of(study))
    assert rows.loc[rows["arm"] == "3.14t", "allocator_state"].isna().all()
    stock = rows[rows["arm"] == "3.14"].sort_values(["model", "workers"])
    assert stock["allocator_state"].tolist() == ["mapping", "keeping", "mapping", "mapping"]


def test_a_speed_up_across_states_says_so(study: Journal, tmp_path: Path) -> None:
    line = (
        "asyncio · 3.14 · interpreters: N = 1 ran in the allocator state mapping, N = 2 in keeping"
    )
    text = markdown(StudyResults.of(study))
    assert line in text
    assert text.count("ran in the allocator state") == 1
    alike = studied(tmp_path, MADE, name="alike.jsonl")
    assert "ran in the allocator state" not in markdown(StudyResults.of(alike))


def test_a_ratio_of_two_ways_across_states_says_so(study: Journal, tmp_path: Path) -> None:
    (compared,) = StudyResults(study.frame, study.study).compared
    pairs = [(place(of), place(over)) for of, over in compared.across_states]
    assert pairs == [(("3.14", "interpreters", 2), ("3.14", "processes", 2))]
    text = chapters_markdown(chapters(StudyResults.of(study)))
    assert "2 interpreters on 3.14 (keeping) over 2 processes on 3.14 (mapping)" in text
    alike = studied(tmp_path, MADE, name="alike.jsonl")
    assert "Across allocator states" not in chapters_markdown(chapters(StudyResults.of(alike)))
    rows = comparison_rows(StudyResults.of(study))
    two = rows[(rows["arm"] == "3.14") & (rows["workers"] == 2) & (rows["question"] != "gain")]
    assert set(two["allocator_state"]) == {"keeping"}
    assert set(two["over_allocator_state"]) == {"mapping"}
