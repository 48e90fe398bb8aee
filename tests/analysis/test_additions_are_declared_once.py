"""A comparison, a check of the gate and the name of a figure are each written in one place."""

from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

import scaling
from scaling.analysis.gate.bounds import BOUNDS, Bound
from scaling.analysis.gate.checked import BoundCheck, Checked
from scaling.analysis.gate.request import Limits
from scaling.analysis.results import StudyResults
from scaling.report.gate_output import gate
from scaling.report.tables.comparison import chapters
from scaling.report.tables.comparison_rows import comparison_rows
from scaling.report.tables.markdown import chapters_markdown
from scaling.study.questions import QUESTIONS, THROUGHPUT, Asked, Scope
from tests.support.fabricate import Made, studied


def inverse(scope: Scope) -> Iterator[Asked]:
    """One worker over several: a question that nobody needs."""
    for cell in scope.cells:
        if cell.workers > 1:
            yield Asked("inverse", THROUGHPUT, cell.but(workers=1), (cell,))


def test_a_question_is_in_tables_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(QUESTIONS, "inverse", inverse)
    made = Made(workers=(1, 2), blocks=8, models=("threads", "processes"))
    results = StudyResults.of(studied(tmp_path, made))
    rows = comparison_rows(results)
    assert (rows["question"] == "inverse").sum() == 2
    assert "Inverse" in chapters_markdown(chapters(results))


def test_a_bound_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gain(checked: Checked, least: float) -> Iterator[BoundCheck]:
        for cell in checked.cells:
            yield checked.paired("gain", cell, cell.but(workers=1), least)

    monkeypatch.setitem(BOUNDS, "min_gain", Bound("--min-gain", "", 0.0, gain))
    speeds = {("3.14t", "threads", n): 1.0 * n for n in (1, 2)}
    study = studied(tmp_path, Made(workers=(1, 2), blocks=8, speeds=speeds, noise=0.005))
    for least, code in ((0.9, 0), (1.0, 1)):
        console = Console(file=StringIO(), width=120)
        limits = Limits(min_gain=2 * least + 0.1 * code)
        assert gate(study.path, limits, {}, console, environment={}) == code


def test_a_figure_has_the_same_name_in_texts_and_notebooks(tmp_path: Path) -> None:
    study = studied(tmp_path, Made(workers=(1, 2), blocks=6))
    name = "throughput_per_s workload=echo arm=3.14t workers=2 over.workers=1"
    cell = {"workload": "echo", "arm": "3.14t", "workers": 2}
    by_name = scaling.figure(study, name)
    assert by_name.estimate == scaling.figure(study, THROUGHPUT, cell, {"workers": 1}).estimate
    assert scaling.figure(study, "blocks").written == "6"
