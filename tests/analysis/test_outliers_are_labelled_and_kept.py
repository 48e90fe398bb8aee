"""A run far from the others of its cell is labelled by hyperfine's rule, and stays in figures."""

from dataclasses import replace

import numpy as np
import pytest

from scaling.analysis.table.marks import FEWEST, THRESHOLD, outliers
from scaling.journal.record import RunLine
from scaling.report.view.notes import outliers as note
from tests.support.documents import tables_markdown
from tests.support.runs import throttled, with_speed
from tests.support.studies import FakeStudy

MADE = FakeStudy(workers=(1, 2), blocks=8)


def slow(run: RunLine) -> RunLine:
    """The run at N = 1 of one block does half of its work; that of another is invalid besides."""
    slowed = with_speed(run, 0.5) if run.cell.workers == 1 and run.block in (3, 5) else run
    return throttled(slowed) if slowed is not run and run.block == 5 else slowed


def test_the_rule_is_hyperfines() -> None:
    """Its own examples (src/outlier_detection.rs), where there are values enough."""
    drawn = [2.33, 1.42, -0.575, -0.313, 2.29, 0.758, -1.07, -0.964, -1.16, 1.11]
    assert pytest.approx(14.826) == THRESHOLD
    assert not outliers(np.array(drawn)).any()
    assert outliers(np.array([*drawn, 20.0, -500.0])).tolist() == [False] * 10 + [True] * 2
    # Within the margin of identical runs is none.
    assert not outliers(np.array([100.0] * 7 + [101.9])).any()
    assert outliers(np.array([100.0] * 7 + [102.1])).tolist() == [False] * 7 + [True]


def test_an_outlier_is_labelled_said_and_stays_in_its_cells_figure_unless_it_is_invalid() -> None:
    slowed = replace(MADE, change=slow)
    (row,) = slowed.frame[slowed.frame["outlier"]].to_dict("records")
    assert (row["block"], row["workers"], row["valid"]) == (3, 1, True)
    assert slowed.study.cells["runs"].tolist() == [7, 8]
    text = "1 run is an outlier of its cell"
    assert text in note(slowed.study)
    assert text in tables_markdown(slowed.study)
    assert note(MADE.study) == ""


def test_chance_alone_seldom_makes_one() -> None:
    rng = np.random.default_rng(1)
    for runs, most in ((FEWEST, 0.02), (8, 0.01), (20, 0.001)):
        cells = 1 + 0.02 * rng.standard_normal((2000, runs))
        assert np.mean([outliers(cell).any() for cell in cells]) <= most
