"""What the garbage collector costs is shown at each N, arm by arm, beside the ladder."""

from pathlib import Path

import pytest

from scaling.analysis.comparison.contrast import collectors
from scaling.analysis.comparison.paired import Configuration, paired
from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import Journal
from scaling.report.tables.comparison import chapters
from tests.support.fabricate import Made, studied

WITH, WITHOUT = "3.14t", "3.14t+nogc"
SPEEDS = {
    (WITH, "threads", 1): 1.0,
    (WITHOUT, "threads", 1): 1.25,
    (WITH, "threads", 2): 1.2,
    (WITHOUT, "threads", 2): 2.4,
}
MADE = Made(arms=(WITH, WITHOUT), workers=(1, 2), blocks=8, noise=1e-4, speeds=SPEEDS)


def read(folder: Path, made: Made) -> Journal:
    return studied(folder, made)


def test_it_is_the_same_arm_with_and_without(tmp_path: Path) -> None:
    study = read(tmp_path, MADE)
    (runs, *_) = paired(study.frame, study.study)
    one, two = collectors(runs).judged()
    assert (one.of, one.over) == (
        Configuration(WITHOUT, "threads", 1),
        Configuration(WITH, "threads", 1),
    )
    assert one.throughput.point == pytest.approx(1.25, rel=1e-2)
    assert two.throughput.point == pytest.approx(2.0, rel=1e-2)
    assert two.throughput.verdict.word == "faster"


def test_it_is_reported_in_a_table_and_among_the_ratios(tmp_path: Path) -> None:
    study = read(tmp_path, MADE)
    told = [grid.title for each in chapters(StudyResults.of(study)) for grid in each.grids]
    assert "What the garbage collector costs" in told
    (compared, *_) = StudyResults(study.frame, study.study).compared
    assert {ratio.measure for ratio in compared.ratios if ratio.question == "no collector"} == {
        "throughput",
        "cpu_s_per_op",
    }


@pytest.mark.parametrize("arms", [(WITH, "3.14"), (WITHOUT, "3.14")])
def test_no_ratio_where_one_of_the_two_is_missing(tmp_path: Path, arms: tuple[str, ...]) -> None:
    study = read(tmp_path, Made(arms=arms, workers=(1, 2)))
    assert not [
        each for runs in paired(study.frame, study.study) for each in collectors(runs).judged()
    ]
