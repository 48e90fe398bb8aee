"""A run far from the others of its cell is labelled by hyperfine's rule, and stays in figures."""

import io
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import scaling
from scaling.analysis.curves import curves
from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import read_journal
from scaling.analysis.table.marks import FEWEST, THRESHOLD, outliers
from scaling.journal.record import RunLine
from scaling.report.plots.draw import subjects
from scaling.report.plots.style import RC
from scaling.report.tables.export import markdown
from scaling.report.terminal.show import Results
from tests.support.drawn import BY_NAME
from tests.support.fabricate import Made, journal, with_, write

MADE = Made(workers=(1, 2), blocks=8)


def slow(run: RunLine, block: int = 3) -> RunLine:
    """The run at N = 1 of one block does half of its work."""
    if run.block != block or run.cell.workers != 1:
        return run
    assert run.record is not None
    (worker,) = run.record.workers
    first, *others = worker.ticks.operations
    counts = [first, *(first + (count - first) // 2 for count in others)]
    return with_(run, record__workers=[with_(worker, ticks__operations=counts)])


def test_the_rule_is_hyperfines() -> None:
    """Its own examples (src/outlier_detection.rs), where there are values enough."""
    drawn = [2.33, 1.42, -0.575, -0.313, 2.29, 0.758, -1.07, -0.964, -1.16, 1.11]
    assert pytest.approx(14.826) == THRESHOLD
    assert not outliers(np.array(drawn)).any()
    assert outliers(np.array([*drawn, 20.0, -500.0])).tolist() == [False] * 10 + [True] * 2
    assert outliers(np.array([10.0] * 7 + [100.0] * 2)).tolist() == [False] * 7 + [True] * 2


def test_an_outlier_is_labelled_and_nothing_else(tmp_path: Path) -> None:
    frame = scaling.load(write(journal(MADE, slow), tmp_path / "journal.jsonl"))
    (row,) = frame[frame["outlier"]].to_dict("records")
    assert (row["block"], row["workers"], row["valid"]) == (3, 1, True)


def test_it_stays_in_its_cells_figure(tmp_path: Path) -> None:
    frame = scaling.load(write(journal(MADE, slow), tmp_path / "journal.jsonl"))
    (curve,) = curves(frame)
    assert [point.runs for point in curve.points] == [8, 8]


def test_tables_say_so_in_a_line(tmp_path: Path) -> None:
    def told(change: bool) -> str:
        lines = journal(MADE, slow if change else None)
        found = read_journal(write(lines, tmp_path / "journal.jsonl"))
        printed = io.StringIO()
        Console(file=printed, width=200).print(Results(StudyResults.of(found)))
        note = "1 run is an outlier of its cell: labelled in the frame, and kept in every figure."
        assert (note in printed.getvalue()) == (note in markdown(StudyResults.of(found)))
        return printed.getvalue()

    assert "1 run is an outlier" in told(change=True)
    assert "outlier" not in told(change=False)


def test_an_invalid_run_is_no_outlier(tmp_path: Path) -> None:
    def invalid(run: RunLine) -> RunLine:
        slowed = slow(run)
        return run if slowed is run else with_(slowed, disturbance__throttled_s=1.0)

    frame = scaling.load(write(journal(MADE, invalid), tmp_path / "journal.jsonl"))
    assert not frame["outlier"].any()
    assert frame["valid"].sum() == len(frame) - 1


def test_chance_alone_seldom_makes_one() -> None:
    rng = np.random.default_rng(1)
    for runs, most in ((FEWEST, 0.02), (8, 0.01), (20, 0.001)):
        cells = 1 + 0.02 * rng.standard_normal((4000, runs))
        assert np.mean([outliers(cell).any() for cell in cells]) <= most


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True, width=32), max_size=20))
def test_any_values_are_taken(values: list[float]) -> None:
    found = outliers(np.array(values, dtype=np.float64))
    assert found.shape == (len(values),)
    assert not found[~np.isfinite(values)].any() if values else True
    assert found.sum() <= len(values) / 2


@pytest.mark.parametrize("values", [[], [1.0], [5.0] * 5 + [500.0][:0], [0.0] * 9, [np.nan] * 9])
def test_nothing_to_compare_is_nothing_to_label(values: list[float]) -> None:
    assert not outliers(np.array(values)).any()


def test_what_is_within_the_margin_of_identical_runs_is_none() -> None:
    assert not outliers(np.array([100.0] * 7 + [101.9])).any()
    assert outliers(np.array([100.0] * 7 + [102.1])).tolist() == [False] * 7 + [True]


def test_plots_put_a_ring_around_it(tmp_path: Path) -> None:
    def rings(change: bool) -> tuple[int, str]:
        lines = journal(MADE, slow if change else None)
        found = read_journal(write(lines, tmp_path / "journal.jsonl"))
        subject, *_ = subjects(StudyResults.of(found)).values()
        with mpl.rc_context(RC):
            sheet = BY_NAME["throughput"].draw(subject)
        dots = [each for axes in sheet.figure.axes for each in axes.collections]
        ringed = [each for each in dots if each.get_gid() == "outliers"]
        count = sum(len(np.asarray(each.get_offsets())) for each in ringed)
        return count, sheet.description.replace("\N{NO-BREAK SPACE}", " ")

    count, told = rings(change=True)
    assert count >= 1
    assert "1 outlier kept, ringed where runs are drawn" in told
    count, told = rings(change=False)
    assert count == 0
    assert "ringed" not in told
