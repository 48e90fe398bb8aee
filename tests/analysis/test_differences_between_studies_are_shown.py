"""Two studies side by side: differences, invalid runs and missing cells stand with the figures."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from scaling.analysis.between_studies import Across
from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import Journal, read_journal
from scaling.base import formats
from scaling.journal.record import RunLine
from scaling.report.tables.across import across_chapters
from scaling.report.tables.grid import chapters_markdown
from scaling.report.tables.terminal import Chapters
from scaling.study.questions import CPU, THROUGHPUT
from tests.support.fabricate import Made, journal, with_, write

type Change = Callable[[RunLine], RunLine]


def studied(file: Path, made: Made | None = None, change: Change | None = None) -> Journal:
    return read_journal(write(journal(made or Made(), change), file))


def compared(then: Journal, now: Journal) -> Across:
    return Across(StudyResults.of(then), StudyResults.of(now))


def text_of(found: Across) -> str:
    return chapters_markdown(across_chapters(found, "old", "new"))


def with_options(study: Journal, **changes: Any) -> Journal:
    line = msgspec.structs.replace(study.study, study=study.study.study | changes)
    return Journal(study.path, line, study.frame, [], [])


def test_brackets_and_counts_are_explained(tmp_path: Path) -> None:
    few = text_of(compared(*[studied(tmp_path / "j.jsonl")] * 2))
    assert "Medians with range of 3 runs, ratios unpaired: too few for a verdict." in few
    assert "| asyncio · 3.14t · threads · 3, 3 runs | 1 |" in few
    many = text_of(compared(*[studied(tmp_path / "j.jsonl", Made(blocks=8))] * 2))
    assert "Medians with 95 % interval over 8 blocks, ratios unpaired." in many
    assert "too few" not in many


def test_the_margin_of_the_verdicts_is_reported(tmp_path: Path) -> None:
    few = studied(tmp_path / "j.jsonl")
    assert "margin" not in text_of(compared(few, few))
    many = studied(tmp_path / "j.jsonl", Made(blocks=8))
    assert "Verdicts use a margin of ±2 %" in text_of(compared(many, many))
    noisy = studied(tmp_path / "j.jsonl", Made(blocks=8, noise=0.2, aa_pairs=True))
    assert "Verdicts use a margin of ±2 %" in text_of(compared(many, noisy))
    wider = studied(tmp_path / "j.jsonl", Made(blocks=8, margin=0.05))
    for both in ((many, wider), (wider, many)):
        assert "Verdicts use a margin of ±5 %" in text_of(compared(*both))


def test_no_figure_is_cut_at_80_columns(tmp_path: Path) -> None:
    arms, models = ("3.14+mimalloc",), ("threads", "interpreters")
    speeds = {(arms[0], model, n): 4.0 + n for model in models for n in (1, 16)}
    made = Made(arms=arms, models=models, workers=(1, 16), speeds=speeds, noise=0.05)
    study = studied(tmp_path / "j.jsonl", made)
    found = compared(study, study)
    console = Console(file=io.StringIO(), width=80, color_system=None)
    console.print(Chapters(across_chapters(found, "old", "new")))
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert max(map(len, text.splitlines())) <= 80
    assert len(found.cells) == 4
    for cell in found.cells:
        ratios = [each for each in found.ratios if each.of == cell and each.measure != CPU]
        assert len(ratios) == 2
        for value in (found.then.points[cell].throughput, *ratios):
            assert {formats.number(value.point), value.bounds} <= set(text.split())


def test_doubts_of_both_come_first_even_if_each_has_one_arm(tmp_path: Path) -> None:
    then, now = studied(tmp_path / "a.jsonl"), studied(tmp_path / "b.jsonl")
    opening, *_ = across_chapters(compared(then, now), "old", "new")
    assert [words.partition(": compute")[0] for words in opening.words[:2]] == [
        "old: Controls missing",
        "new: Controls missing",
    ]


def test_runs_that_are_not_simply_valid_are_listed(tmp_path: Path) -> None:
    def stolen(run: RunLine) -> RunLine:
        return with_(run, disturbance__steal_fraction=0.1) if run.cell.workers == 2 else run

    def throttled(run: RunLine) -> RunLine:
        return with_(run, disturbance__throttled_s=0.5) if not run.block else run

    then = studied(tmp_path / "a.jsonl", change=stolen)
    text = text_of(compared(then, studied(tmp_path / "b.jsonl", change=throttled)))
    assert "old: 3 runs suspect (machine-busy): echo · weak · asyncio · 3.14t · threads" in text
    assert "new: 3 runs invalid (throttled): " in text
    assert "and 2 more cells" in text
    assert "· threads · 3?, 2 runs | 2 |" in text
    assert "? some of them are suspect" in text


def test_a_cell_without_a_valid_run_on_one_side_is_named(tmp_path: Path) -> None:
    def throttled(run: RunLine) -> RunLine:
        return with_(run, disturbance__throttled_s=0.5) if run.cell.workers == 2 else run

    whole, lacking = studied(tmp_path / "a.jsonl"), studied(tmp_path / "b.jsonl", change=throttled)
    cell = "echo · weak · asyncio · 3.14t · threads · N = 2"
    for pair, side in (((whole, lacking), "later"), ((lacking, whole), "earlier")):
        found = compared(*pair)
        assert [each.of.workers for each in found.ratios.where(measure=THROUGHPUT)] == [1, 4]
        assert f"Left out, 1 cell without a valid run in the {side}: {cell}." in text_of(found)


def test_memory_of_two_kinds_has_no_ratio(tmp_path: Path) -> None:
    made = Made(models=("processes",))
    then = studied(tmp_path / "a.jsonl", made, lambda run: with_(run, memory__pss_bytes=None))
    found = compared(then, studied(tmp_path / "b.jsonl", made))
    assert {each.measure for each in found.ratios} == {THROUGHPUT, CPU}
    assert "Memory is blank where one study has PSS and the other RSS." in text_of(found)


@pytest.mark.parametrize(("began", "warned"), [("2026-11-20T19:00:00Z", True), ("2026", False)])
def test_studies_named_in_the_wrong_order_are_reported(
    tmp_path: Path, began: str, warned: bool
) -> None:
    now = studied(tmp_path / "j.jsonl")
    line = msgspec.structs.replace(now.study, started_at=began)
    text = text_of(compared(Journal(now.path, line, now.frame, [], []), now))
    assert ("swap them" in text) is warned


def test_what_changes_no_cell_is_no_difference(tmp_path: Path) -> None:
    study = studied(tmp_path / "j.jsonl")
    entry = {"name": "echo", "sizing": ["weak"], "workers": [1, 2]}
    more = {"name": "echo", "sizing": ["weak", "strong"], "workers": [1, 2, 4]}
    then = with_options(study, workers=[1, 2], models=["threads"], workloads=[entry])
    other = with_options(
        study,
        workers=[1],
        models=["processes"],
        loops=["uvloop"],
        workloads=[entry | {"workers": [1]}],
    )
    assert compared(then, other).differences == ()
    without, now = with_options(study, aa_pairs=False), with_options(study, aa_pairs=True)
    assert compared(without, now).differences == ()
    strong = with_options(study, sizing=["strong"], workloads=[more])
    assert compared(strong, strong).differences == ()
    fewer = with_options(study, workloads=[more | {"workers": [1, 2]}])
    assert compared(fewer, strong).differences == ("the study (workers)",)


def test_another_allocator_state_is_reported(tmp_path: Path) -> None:
    def keeping(run: RunLine) -> RunLine:
        assert run.record is not None
        workers = [
            with_(each, ticks__minor_faults=[900] * len(each.ticks.time_ns))
            for each in run.record.workers
        ]
        return with_(run, record__workers=workers) if run.cell.workers == 2 else run

    made = Made(arms=("3.14",), workers=(1, 2))
    then, now = studied(tmp_path / "a.jsonl", made), studied(tmp_path / "b.jsonl", made, keeping)
    found = compared(then, now)
    assert [each.workers for each in found.across_states] == [2]
    assert "In another allocator state than before" in text_of(found)
