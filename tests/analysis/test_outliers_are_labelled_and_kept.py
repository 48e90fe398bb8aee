"""A run far from the others of its cell is labelled by hyperfine's rule, and stays in figures."""

from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaling.analysis.curves import curves
from scaling.analysis.table.marks import FEWEST, THRESHOLD, outliers
from scaling.journal.record import RunLine
from scaling.report.plots.draw import subjects
from scaling.report.plots.style import RC
from scaling.report.tables.export import markdown
from scaling.report.terminal.show import Results
from tests.support.drawn import BY_NAME
from tests.support.printing import printed
from tests.support.runs import throttled, with_speed
from tests.support.studies import FakeStudy

MADE = FakeStudy(workers=(1, 2), blocks=8)


def slow(run: RunLine) -> RunLine:
    """The run at N = 1 of one block does half of its work."""
    return with_speed(run, 0.5) if (run.block, run.cell.workers) == (3, 1) else run


SLOWED = replace(MADE, change=slow)


def test_the_rule_is_hyperfines() -> None:
    """Its own examples (src/outlier_detection.rs), where there are values enough."""
    drawn = [2.33, 1.42, -0.575, -0.313, 2.29, 0.758, -1.07, -0.964, -1.16, 1.11]
    assert pytest.approx(14.826) == THRESHOLD
    assert not outliers(np.array(drawn)).any()
    assert outliers(np.array([*drawn, 20.0, -500.0])).tolist() == [False] * 10 + [True] * 2
    assert outliers(np.array([10.0] * 7 + [100.0] * 2)).tolist() == [False] * 7 + [True] * 2


def test_an_outlier_is_labelled_and_stays_in_its_cells_figure() -> None:
    (row,) = SLOWED.frame[SLOWED.frame["outlier"]].to_dict("records")
    assert (row["block"], row["workers"], row["valid"]) == (3, 1, True)
    (curve,) = curves(SLOWED.frame)
    assert [point.runs for point in curve.points] == [8, 8]


def test_tables_say_so_in_a_line() -> None:
    note = "1 run is an outlier of its cell: labelled, and kept in every figure"
    for text in (printed(Results(SLOWED.results), width=200), markdown(SLOWED.results)):
        assert note in text
    assert "outlier" not in printed(Results(MADE.results), width=200)


def test_an_invalid_run_is_no_outlier() -> None:
    def invalid(run: RunLine) -> RunLine:
        slowed = slow(run)
        return run if slowed is run else throttled(slowed)

    frame = replace(MADE, change=invalid).frame
    assert not frame["outlier"].any()
    assert frame["valid"].sum() == len(frame) - 1


def test_chance_alone_seldom_makes_one() -> None:
    rng = np.random.default_rng(1)
    for runs, most in ((FEWEST, 0.02), (8, 0.01), (20, 0.001)):
        cells = 1 + 0.02 * rng.standard_normal((2000, runs))
        assert np.mean([outliers(cell).any() for cell in cells]) <= most


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True, width=32), max_size=20))
def test_any_values_are_taken(values: list[float]) -> None:
    found = outliers(np.array(values, dtype=np.float64))
    assert found.shape == (len(values),)
    assert not found[~np.isfinite(values)].any() if values else True
    assert found.sum() <= len(values) / 2


def test_what_is_within_the_margin_of_identical_runs_is_none() -> None:
    assert not outliers(np.array([100.0] * 7 + [101.9])).any()
    assert outliers(np.array([100.0] * 7 + [102.1])).tolist() == [False] * 7 + [True]


@pytest.mark.parametrize(("study", "rings"), [("slowed", 1), ("made", 0)])
def test_plots_put_a_ring_around_it(study: str, rings: int) -> None:
    subject, *_ = subjects((SLOWED if study == "slowed" else MADE).results).values()
    with mpl.rc_context(RC):
        sheet = BY_NAME["throughput"].draw(subject)
    dots = [each for axes in sheet.figure.axes for each in axes.collections]
    ringed = [each for each in dots if each.get_gid() == "outliers"]
    assert min(1, sum(len(np.asarray(each.get_offsets())) for each in ringed)) == rings
    told = sheet.description.replace("\N{NO-BREAK SPACE}", " ")
    assert ("1 outlier kept, ringed where runs are drawn" in told) == bool(rings)
