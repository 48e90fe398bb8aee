"""Of each ratio tables and files say whether its cells were measured in turn, and why not."""

from scaling.analysis.tables.study import Study
from scaling.journal.record import RunLine
from scaling.report.csv import comparison
from scaling.report.view.notes import turns
from tests.support.documents import tables_markdown
from tests.support.runs import Change, changing, with_
from tests.support.studies import FakeStudy

WHY = "its services are shared by all cells"


def in_groups(run: RunLine) -> RunLine:
    """Cells with the same N take turns; in one block those at N = 2 are in two groups."""
    is_apart = run.block == 1 and run.cell.workers == 2 and run.cell.model == "processes"
    return with_(run, group=99 if is_apart else run.cell.workers)


def made(change: Change | None) -> Study:
    return FakeStudy(models=("threads", "processes"), ticks=4, change=change).study


def test_cells_of_one_group_in_every_block_were_measured_in_turn() -> None:
    """A single block in two groups is enough to say no."""
    study = made(in_groups)
    apart = study.ratios[study.ratios["question"] == "over processes"].groupby("workers")
    found = {n: set(why) for n, why in apart["why_not_in_turn"]}
    assert found == {1: {""}, 2: {"one group had no room for both"}, 4: {""}}
    rows = comparison(study)
    assert set(rows["in_turn"]) == {True, False}
    assert (rows["in_turn"] == (rows["why_not_in_turn"] == "")).all()
    assert "not: gain (they have another number of workers)" in turns(study)


def test_the_reason_of_the_run_is_told_and_journals_that_know_no_turns_are_left_alone() -> None:
    study = made(changing(alone=WHY))
    ratios = study.ratios[study.ratios["question"] == "over processes"]
    assert set(ratios["why_not_in_turn"]) == {WHY}
    assert turns(study).startswith("Measured in turn: nothing; not: ")
    assert WHY in turns(study)
    assert WHY in tables_markdown(study)
    study = made(None)
    assert turns(study) == ""
    assert not comparison(study)["in_turn"].any()
