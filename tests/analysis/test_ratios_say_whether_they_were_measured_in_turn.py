"""Of each ratio tables and files say whether its cells were measured in turn, and why not."""

from scaling.analysis.results import StudyResults
from scaling.journal.record import RunLine
from scaling.report.tables.comparison import chapters
from scaling.report.tables.export import comparison_rows
from scaling.report.tables.grid import chapters_markdown
from scaling.report.tables.notes import turns_text
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


def results(change: Change | None) -> StudyResults:
    return FakeStudy(models=("threads", "processes"), ticks=4, change=change).results


def test_cells_of_one_group_in_every_block_were_measured_in_turn() -> None:
    found = results(in_groups)
    for ratio in found.ratios:
        same_n = ratio.of.workers == ratio.over.workers
        assert bool(ratio.why_apart) != same_n, ratio
    rows = comparison_rows(found)
    assert set(rows["in_turn"]) == {True, False}
    assert rows.loc[rows["in_turn"], "why_not_in_turn"].isna().all()
    assert "not: gain (they have another number of workers)" in turns_text(found.ratios)


def test_a_single_block_in_two_groups_is_enough_to_say_no() -> None:
    found = results(in_groups_but_one)
    apart = {(each.of.workers, each.why_apart) for each in found.ratios.where("over processes")}
    assert {why for n, why in apart if n == 2} == {"one group had no room for both"}
    assert {why for n, why in apart if n == 1} <= {""}


def test_the_reason_of_the_run_is_told() -> None:
    found = results(changing(alone=WHY))
    assert {each.why_apart for each in found.ratios.where("over processes")} == {WHY}
    told = turns_text(found.ratios)
    assert told.startswith("Measured in turn: nothing; not: ")
    assert WHY in told
    assert WHY in chapters_markdown(chapters(found))


def test_journals_that_know_no_turns_are_not_commented_on() -> None:
    found = results(None)
    assert turns_text(found.ratios) == ""
    assert not any(comparison_rows(found)["in_turn"])
