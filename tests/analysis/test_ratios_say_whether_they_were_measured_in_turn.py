"""Of each ratio tables and files say whether its cells were measured in turn, and why not."""

from scaling.analysis.tables.study import Study
from scaling.journal.record import RunLine
from scaling.report.csv import comparison
from scaling.report.page import tables_markdown
from scaling.report.view.notes import turns
from tests.support.runs import Change, changing, with_
from tests.support.studies import FakeStudy

WHY = "its services are shared by all cells"


def in_groups(run: RunLine) -> RunLine:
    """Cells with the same N take turns."""
    return with_(run, group=run.cell.workers)


def in_groups_but_one(run: RunLine) -> RunLine:
    """In one block the cells at N = 2 are in two groups."""
    grouped = in_groups(run)
    is_apart = run.block == 1 and run.cell.workers == 2 and run.cell.model == "processes"
    return with_(grouped, group=99) if is_apart else grouped


def made(change: Change | None) -> Study:
    return FakeStudy(models=("threads", "processes"), ticks=4, change=change).study


def test_cells_of_one_group_in_every_block_were_measured_in_turn() -> None:
    study = made(in_groups)
    ratios = study.ratios
    same_n = ratios["workers"] == ratios["over_workers"]
    assert ((ratios["why_not_in_turn"] == "") == same_n).all()
    rows = comparison(study)
    assert set(rows["in_turn"]) == {True, False}
    assert (rows["in_turn"] == (rows["why_not_in_turn"] == "")).all()
    assert "not: gain (they have another number of workers)" in turns(study)


def test_a_single_block_in_two_groups_is_enough_to_say_no() -> None:
    ratios = made(in_groups_but_one).ratios
    apart = ratios[ratios["question"] == "over processes"].groupby("workers")["why_not_in_turn"]
    found = {n: set(why) for n, why in apart}
    assert found[2] == {"one group had no room for both"}
    assert found[1] == {""}


def test_the_reason_of_the_run_is_told() -> None:
    study = made(changing(alone=WHY))
    ratios = study.ratios[study.ratios["question"] == "over processes"]
    assert set(ratios["why_not_in_turn"]) == {WHY}
    assert turns(study).startswith("Measured in turn: nothing; not: ")
    assert WHY in turns(study)
    assert WHY in tables_markdown(study)


def test_journals_that_know_no_turns_are_not_commented_on() -> None:
    study = made(None)
    assert turns(study) == ""
    assert not comparison(study)["in_turn"].any()
