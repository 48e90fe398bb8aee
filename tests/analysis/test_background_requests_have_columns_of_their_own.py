"""Background requests have their own percentiles; those of the other requests do not change."""

from pathlib import Path

import numpy as np
import pytest

from scaling.analysis.results import StudyResults
from scaling.journal.record import RunLine
from scaling.report.plots.caption import load_text
from scaling.report.tables.questions.rates import BACKGROUND_NOTE, rate_grids
from scaling.report.tables.rated import rated
from scaling.report.terminal.load_rows import load_lines
from tests.support.fabricate import with_
from tests.support.served import Served, histogram, studied

ONE = Served(configurations=[("3.14t", "threads")], workers=(2,), rates=(800.0,), blocks=1)


def with_background(run: RunLine) -> RunLine:
    seconds = np.repeat([0.02, 0.08], [2_950, 50])
    return with_(run, load__background=histogram(seconds))


def test_they_are_in_columns_of_their_own(tmp_path: Path) -> None:
    alone = studied(tmp_path / "alone", ONE).frame.iloc[0]
    mixed = studied(tmp_path / "mixed", ONE, with_background).frame.iloc[0]
    assert mixed["background_p50_s"] == pytest.approx(0.02, rel=0.01)
    assert mixed["background_p99_s"] == pytest.approx(0.08, rel=0.01)
    for column in ("latencies", "latency_mean_s", "latency_p50_s", "latency_p99_s"):
        assert mixed[column] == alone[column]


def test_a_run_without_any_has_no_value(tmp_path: Path) -> None:
    row = studied(tmp_path / "alone", ONE).frame.iloc[0]
    assert np.isnan(row["background_p50_s"])
    assert np.isnan(row["background_p99_s"])


def test_tables_captions_and_the_answer_say_whose_latency_it_is(tmp_path: Path) -> None:
    results = StudyResults.of(studied(tmp_path / "mixed", ONE, with_background))
    (grid,) = rate_grids(rated(results)[0])
    assert "all foreground requests" in str(grid.note)
    assert BACKGROUND_NOTE in str(grid.note)
    assert "background P99 ms" in grid.headings
    assert "latency of foreground requests only" in load_text(results.sections[0], results)
    assert "latency of foreground requests at" in next(load_lines(results, 80, 20))


def test_without_background_nothing_is_said_of_it(tmp_path: Path) -> None:
    results = StudyResults.of(studied(tmp_path / "alone", ONE))
    (grid,) = rate_grids(rated(results)[0])
    shown = [*grid.headings, str(grid.note), *load_text(results.sections[0], results)]
    assert not [each for each in shown if "ground" in each]
    assert "foreground" not in next(load_lines(results, 80, 20))
