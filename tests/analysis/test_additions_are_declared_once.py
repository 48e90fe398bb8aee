"""A comparison and a check of the gate are each written in one place."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from scaling.analysis.gate import BoundCheck, Checked
from scaling.analysis.gate_bounds import BOUNDS, Bound
from scaling.report.page.render import page
from scaling.report.tables.comparison import chapters
from scaling.report.tables.export import comparison_rows
from scaling.report.tables.grid import chapters_markdown
from scaling.study.questions import QUESTIONS, Asked, Scope
from tests.support.gates import gated
from tests.support.studies import FakeStudy

LAG = "lag_max_s"


@pytest.mark.usefixtures("unrendered")
def test_a_question_about_any_measure_is_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ratio of loop lags stands in tables, the answer, the page and files."""

    def lags(scope: Scope) -> Iterator[Asked]:
        for cell in scope.cells:
            if cell.model == "threads" and cell.workers == 2:
                over = cell.but(model="processes")
                for measure in (LAG, "peak_bytes"):
                    yield Asked("lateness", measure, cell, (over,), headline=measure == LAG)

    monkeypatch.setitem(QUESTIONS, "lags", lags)
    results = FakeStudy(workers=(1, 2), blocks=8, models=("threads", "processes")).results
    (ratio,) = results.ratios.where("lateness", LAG)
    assert ratio.verdict.family == "exploratory", "the study has not named it"
    text = chapters_markdown(chapters(results))
    assert "| N | of | over | worst loop lag | peak" in text
    assert "| worst loop lag of 2 threads on 3.14t over 2 processes" in text
    assert "Lateness" in page(results)
    rows = comparison_rows(results)
    assert rows.loc[rows["question"] == "lateness", "measure"].tolist() == [LAG, "peak_bytes"]


def test_a_bound_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gain(checked: Checked, least: float) -> Iterator[BoundCheck]:
        for cell in checked.cells:
            yield checked.paired("gain", cell, cell.but(workers=1), least)

    monkeypatch.setitem(BOUNDS, "min_gain", Bound("--min-gain", "", 0.0, gain))
    speeds = {("3.14t", "threads", n): 1.0 * n for n in (1, 2)}
    study = FakeStudy(workers=(1, 2), blocks=8, speeds=speeds, noise=0.005)
    assert gated(tmp_path, study, min_gain=1.8)[0] == 0
    assert gated(tmp_path, study, min_gain=2.1)[0] == 1
