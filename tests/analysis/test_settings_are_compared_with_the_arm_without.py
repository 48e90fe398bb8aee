"""A setting beside the ladder is compared with the same arm without it, at each N."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import Journal
from scaling.report.page.answer import answer_block
from scaling.report.tables.comparison import chapters
from scaling.report.tables.headline import other_ratios
from scaling.report.terminal.answer import Answer
from scaling.study.questions import THROUGHPUT
from tests.support.comparisons import place
from tests.support.fabricate import Made, studied

WITH, WITHOUT = "3.14t", "3.14t+nogc"
SPEEDS = {
    (WITH, "threads", 1): 1.0,
    (WITHOUT, "threads", 1): 1.25,
    (WITH, "threads", 2): 1.2,
    (WITHOUT, "threads", 2): 2.4,
}
MADE = Made(arms=(WITH, WITHOUT), workers=(1, 2), blocks=8, noise=1e-4, speeds=SPEEDS)
SWITCHES = Made(
    arms=("3.13", "3.13+new-scheduler", "3.13+io-uring"), workers=(1,), blocks=8, aa_pairs=True
)


def read(folder: Path, made: Made) -> Journal:
    return studied(folder, made)


def test_it_is_the_same_arm_with_and_without(tmp_path: Path) -> None:
    study = read(tmp_path, MADE)
    one, two = StudyResults.of(study).ratios.where("setting", THROUGHPUT)
    assert (place(one.of), place(one.over)) == ((WITHOUT, "threads", 1), (WITH, "threads", 1))
    assert one.point == pytest.approx(1.25, rel=1e-2)
    assert two.point == pytest.approx(2.0, rel=1e-2)
    assert two.verdict.word == "faster"


def test_it_is_reported_in_a_table_and_among_the_ratios(tmp_path: Path) -> None:
    study = read(tmp_path, MADE)
    shown = [grid.title for each in chapters(StudyResults.of(study)) for grid in each.grids]
    assert "What a setting changes" in shown
    (compared, *_) = StudyResults(study.frame, study.study).compared
    assert {ratio.figure for ratio in compared.ratios.where("setting")} == {
        "throughput",
        "cpu_s_per_op",
    }


@pytest.mark.parametrize("arms", [(WITH, "3.14"), (WITHOUT, "3.14")])
def test_no_ratio_where_one_of_the_two_is_missing(tmp_path: Path, arms: tuple[str, ...]) -> None:
    study = read(tmp_path, Made(arms=arms, workers=(1, 2)))
    assert not StudyResults.of(study).ratios.where("setting")


def test_a_study_of_switches_ends_with_a_ratio_for_each(tmp_path: Path) -> None:
    """It has one worker, so no gain; its answer is each arm over the one without the switch."""
    results = StudyResults.of(studied(tmp_path, SWITCHES))
    names = [each.name for each in other_ratios(results)]
    assert names == [
        "echo: 1 thread on 3.13+new-scheduler over 3.13",
        "echo: 1 thread on 3.13+io-uring over 3.13",
    ]
    assert {each.ratio.verdict.family for each in other_ratios(results)} == {"exploratory"}
    console = Console(file=io.StringIO(), width=80)
    console.print(Answer(results))
    printed = console.file.getvalue()  # type: ignore[attr-defined]
    assert printed.count("over 3.13  ") == len(names)
    assert "No headline ratio" not in printed
    assert answer_block(results).figures
