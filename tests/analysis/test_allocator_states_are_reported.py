"""Runs in different allocator states are never averaged, and a ratio of them says so.

mimalloc has no such states.
"""

from dataclasses import replace

import pytest

from scaling.analysis.tables.study import Study
from scaling.journal.record import RunLine, Ticks
from scaling.report.csv import comparison, summary
from scaling.report.view.notes import allocator_states
from tests.support.runs import changing_ticks, keeping_memory, with_
from tests.support.studies import FakeStudy

ONE = FakeStudy(arms=("3.14",), workers=(1,), ticks=4)
MADE = FakeStudy(arms=("3.14", "3.14t"), models=("interpreters", "processes"), workers=(1, 2))
ODD = ("interpreters", 2)


def keeping(run: RunLine) -> RunLine:
    """The interpreters at N = 2 keep their memory."""
    return keeping_memory(run) if (run.cell.model, run.cell.workers) == ODD else run


@pytest.fixture(scope="module")
def study() -> Study:
    return replace(MADE, change=keeping).study


@pytest.mark.parametrize("odd_blocks", [(2,), (0, 1), (3, 4, 5)])
def test_runs_of_a_cell_in_another_state_than_most_are_invalid(odd_blocks: tuple[int, ...]) -> None:
    def change(run: RunLine) -> RunLine:
        return keeping_memory(run) if run.block in odd_blocks else run

    for row in replace(ONE, blocks=6, change=change).rows:
        odd = row["block"] in odd_blocks
        assert row["allocator_state"] == ("keeping" if odd else "mapping")
        assert row["reasons"] == (("mixed-allocator-state",) if odd else ())
        assert row["valid"] is not odd


def test_faults_that_merely_vary_are_one_state() -> None:
    def varies(run: RunLine) -> RunLine:
        def change(ticks: Ticks) -> Ticks:
            return with_(ticks, minor_faults=[(4 + run.block) * n for n in ticks.operations])

        return changing_ticks(change)(run)

    assert {row["validity"] for row in replace(ONE, blocks=5, change=varies).rows} == {"valid"}


def test_every_cell_and_both_sides_of_a_ratio_bear_their_state(study: Study) -> None:
    assert set(study.runs["validity"]) == {"valid"}  # states of different cells may differ
    rows = summary(study)
    assert rows.loc[rows["arm"] == "3.14t", "allocator_state"].isna().all()
    stock = rows[rows["arm"] == "3.14"].sort_values(["model", "workers"])
    assert stock["allocator_state"].tolist() == ["mapping", "keeping", "mapping", "mapping"]
    ratios = comparison(study)
    two = ratios[(ratios["arm"] == "3.14") & (ratios["workers"] == 2)]
    over = two[(two["question"] != "gain") & (two["model"] == "interpreters")]
    assert set(over["allocator_state"]) == {"keeping"}
    assert set(over["over_allocator_state"]) == {"mapping"}


def test_a_note_names_the_ratios_across_states(study: Study) -> None:
    note = allocator_states(study)
    assert "asyncio · 3.14 · interpreters · N = 2 (keeping) over " in note
    assert "3.14 · interpreters · N = 1 (mapping)" in note
    assert "3.14 · processes · N = 2 (mapping)" in note
    assert allocator_states(MADE.study) == ""
