"""Runs in different allocator states are never averaged, and a ratio of them says so.

mimalloc has no such states.
"""

from dataclasses import replace

import pytest

from scaling.analysis.results import StudyResults
from scaling.journal.record import RunLine, Ticks
from scaling.report.tables.comparison import chapters
from scaling.report.tables.export import comparison_rows, markdown, summary
from scaling.report.tables.grid import chapters_markdown
from tests.support.runs import changing_ticks, keeping_memory, with_
from tests.support.studies import FakeStudy, place

ONE = FakeStudy(arms=("3.14",), workers=(1,))
MADE = FakeStudy(arms=("3.14", "3.14t"), models=("interpreters", "processes"), workers=(1, 2))


def keeping(run: RunLine) -> RunLine:
    """The interpreters at N = 2 keep their memory."""
    return keeping_memory(run) if (run.cell.model, run.cell.workers) == ODD else run


ODD = ("interpreters", 2)


@pytest.fixture(scope="module")
def results() -> StudyResults:
    return replace(MADE, change=keeping).results


@pytest.mark.parametrize("odd_blocks", [(2,), (0, 1), (3, 4, 5)])
def test_runs_of_a_cell_in_another_state_than_most_are_invalid(odd_blocks: tuple[int, ...]) -> None:
    def change(run: RunLine) -> RunLine:
        return keeping_memory(run) if run.block in odd_blocks else run

    for row in replace(ONE, blocks=6, change=change).rows:
        odd = row["block"] in odd_blocks
        assert row["allocator_state"] == ("keeping" if odd else "mapping")
        assert row["reasons"] == (("mixed-allocator-state",) if odd else ())
        assert row["valid"] is not odd


def test_states_of_different_cells_are_not_compared_with_each_other(results: StudyResults) -> None:
    assert set(results.frame["validity"]) == {"valid"}


def test_faults_that_merely_vary_are_one_state() -> None:
    def varies(run: RunLine) -> RunLine:
        def change(ticks: Ticks) -> Ticks:
            return with_(ticks, minor_faults=[(4 + run.block) * n for n in ticks.operations])

        return changing_ticks(change)(run)

    assert {row["validity"] for row in replace(ONE, blocks=5, change=varies).rows} == {"valid"}


def test_every_cell_bears_its_state(results: StudyResults) -> None:
    rows = summary(results)
    assert rows.loc[rows["arm"] == "3.14t", "allocator_state"].isna().all()
    stock = rows[rows["arm"] == "3.14"].sort_values(["model", "workers"])
    assert stock["allocator_state"].tolist() == ["mapping", "keeping", "mapping", "mapping"]


def test_a_speed_up_across_states_says_so(results: StudyResults) -> None:
    text = markdown(results)
    assert (
        "asyncio · 3.14 · interpreters: N = 1 ran in the allocator state mapping, N = 2 in keeping"
    ) in text
    assert text.count("ran in the allocator state") == 1
    assert "ran in the allocator state" not in markdown(MADE.results)


def test_a_ratio_of_two_ways_across_states_says_so(results: StudyResults) -> None:
    (compared,) = results.compared
    pairs = [(place(of), place(over)) for of, over in compared.across_states]
    assert pairs == [(("3.14", "interpreters", 2), ("3.14", "processes", 2))]
    text = chapters_markdown(chapters(results))
    assert "2 interpreters on 3.14 (keeping) over 2 processes on 3.14 (mapping)" in text
    assert "Across allocator states" not in chapters_markdown(chapters(MADE.results))
    rows = comparison_rows(results)
    two = rows[(rows["arm"] == "3.14") & (rows["workers"] == 2) & (rows["question"] != "gain")]
    assert set(two["allocator_state"]) == {"keeping"}
    assert set(two["over_allocator_state"]) == {"mapping"}
