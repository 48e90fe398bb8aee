"""Two studies side by side: differences, invalid runs and missing cells stand with the figures."""

from dataclasses import replace
from typing import Any

import pytest

from scaling.analysis.between_studies import Across
from scaling.journal.record import RunLine
from scaling.report.tables.between_studies import across_chapters
from scaling.report.tables.grid import chapters_markdown
from scaling.study.questions import CPU, THROUGHPUT
from tests.support.runs import changing, keeping_memory, throttled, with_
from tests.support.studies import FakeStudy

STUDY = FakeStudy()
EIGHT_BLOCKS = FakeStudy(blocks=8)


def compared(then: FakeStudy, now: FakeStudy) -> Across:
    return Across(then.results, now.results)


def text_of(found: Across) -> str:
    return chapters_markdown(across_chapters(found, "old", "new"))


def with_options(**options: Any) -> FakeStudy:
    return replace(STUDY, options=options)


def test_brackets_and_counts_are_explained() -> None:
    few = text_of(compared(STUDY, STUDY))
    assert "Medians with range of 3 runs, ratios unpaired: too few for a verdict." in few
    assert "| asyncio · 3.14t · threads · 3, 3 runs | 1 |" in few
    many = text_of(compared(EIGHT_BLOCKS, EIGHT_BLOCKS))
    assert "Medians with 95 % interval over 8 blocks, ratios unpaired." in many
    assert "too few" not in many


def test_the_margin_of_the_verdicts_is_reported() -> None:
    assert "margin" not in text_of(compared(STUDY, STUDY))
    noisy = replace(EIGHT_BLOCKS, noise=0.2, aa_pairs=True)
    for now in (EIGHT_BLOCKS, noisy):
        assert "Verdicts use a margin of ±2 %" in text_of(compared(EIGHT_BLOCKS, now))
    wider = replace(EIGHT_BLOCKS, margin=0.05)
    for both in ((EIGHT_BLOCKS, wider), (wider, EIGHT_BLOCKS)):
        assert "Verdicts use a margin of ±5 %" in text_of(compared(*both))


def test_doubts_of_both_come_first_even_if_each_has_one_arm() -> None:
    opening, *_ = across_chapters(compared(STUDY, STUDY), "old", "new")
    assert [words.partition(": compute")[0] for words in opening.words[:2]] == [
        "old: Controls missing",
        "new: Controls missing",
    ]


def test_runs_that_are_not_simply_valid_are_listed() -> None:
    def stolen(run: RunLine) -> RunLine:
        return with_(run, disturbance__steal_fraction=0.1) if run.cell.workers == 2 else run

    def invalid(run: RunLine) -> RunLine:
        return run if run.block else throttled(run)

    text = text_of(compared(replace(STUDY, change=stolen), replace(STUDY, change=invalid)))
    assert "old: 3 runs suspect (machine-busy): echo · weak · asyncio · 3.14t · threads" in text
    assert "new: 3 runs invalid (throttled): " in text
    assert "and 2 more cells" in text
    assert "· threads · 3?, 2 runs | 2 |" in text
    assert "? some of them are suspect" in text


def test_a_cell_without_a_valid_run_on_one_side_is_named() -> None:
    def invalid(run: RunLine) -> RunLine:
        return throttled(run) if run.cell.workers == 2 else run

    lacking = replace(STUDY, change=invalid)
    cell = "echo · weak · asyncio · 3.14t · threads · N = 2"
    for pair, side in (((STUDY, lacking), "later"), ((lacking, STUDY), "earlier")):
        found = compared(*pair)
        assert [each.of.workers for each in found.ratios.where(measure=THROUGHPUT)] == [1, 4]
        assert f"Left out, 1 cell without a valid run in the {side}: {cell}." in text_of(found)


def test_memory_of_two_kinds_has_no_ratio() -> None:
    now = FakeStudy(models=("processes",))
    found = compared(replace(now, change=changing(memory__pss_bytes=None)), now)
    assert {each.measure for each in found.ratios} == {THROUGHPUT, CPU}
    assert "Memory is blank where one study has PSS and the other RSS." in text_of(found)


@pytest.mark.parametrize(("began", "warned"), [("2026-11-20T19:00:00Z", True), ("2026", False)])
def test_studies_named_in_the_wrong_order_are_reported(began: str, warned: bool) -> None:
    text = text_of(compared(replace(STUDY, head={"started_at": began}), STUDY))
    assert ("swap them" in text) is warned


def test_what_changes_no_cell_is_no_difference() -> None:
    entry = {"name": "echo", "sizing": ["weak"], "workers": [1, 2]}
    more = {"name": "echo", "sizing": ["weak", "strong"], "workers": [1, 2, 4]}
    then = with_options(workers=[1, 2], models=["threads"], workloads=[entry])
    other = with_options(
        workers=[1],
        models=["processes"],
        loops=["uvloop"],
        workloads=[entry | {"workers": [1]}],
    )
    assert compared(then, other).differences == ()
    without, now = with_options(aa_pairs=False), with_options(aa_pairs=True)
    assert compared(without, now).differences == ()
    strong = with_options(sizing=["strong"], workloads=[more])
    assert compared(strong, strong).differences == ()
    fewer = with_options(workloads=[more | {"workers": [1, 2]}])
    assert compared(fewer, strong).differences == ("the study (workers)",)


def test_another_allocator_state_is_reported() -> None:
    def keeping(run: RunLine) -> RunLine:
        return keeping_memory(run) if run.cell.workers == 2 else run

    then = FakeStudy(arms=("3.14",), workers=(1, 2))
    found = compared(then, replace(then, change=keeping))
    assert [each.workers for each in found.across_states] == [2]
    assert "In another allocator state than before" in text_of(found)
