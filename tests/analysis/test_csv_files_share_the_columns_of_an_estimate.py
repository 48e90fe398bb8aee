"""Every CSV file has the same columns for an estimate, and for what it depends on."""

import re
from dataclasses import fields
from pathlib import Path

import pandas as pd
import pytest
from msgspec.structs import replace

from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.estimate import Estimate
from scaling.analysis.table.load import read_journal
from scaling.journal.record import StudyLine
from scaling.report.files import COMPARISON, LAWS, SUMMARY, write_tables
from scaling.report.tables.columns import estimate_columns
from tests.support.fabricate import Made, journal, write

ONE = Estimate(2.0, 1.0, 3.0, "x", 8, "by hand", 0.95, 0.5)
PARTS = [name.removeprefix("x") for name in estimate_columns("x", ONE)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("study")
    head, *runs = journal(Made(arms=("3.14", "3.14t"), workers=(1, 2, 4), blocks=6))
    assert isinstance(head, StudyLine)
    small = replace(head, study={**head.study, "scale": 0.25})
    read = read_journal(write([small, *runs], path / "journal.jsonl"))
    write_tables(StudyResults(read.frame, read.study), path)
    return path


def test_nothing_of_an_estimate_is_left_out() -> None:
    told = set(estimate_columns("x", ONE).values())
    known = {getattr(ONE, each.name) for each in fields(ONE)}
    assert told == known - {ONE.unit}  # which is in the name


@pytest.mark.parametrize(
    ("file", "figure"),
    [(SUMMARY, "throughput_per_s"), (SUMMARY, "speedup"), (COMPARISON, "ratio"), (LAWS, "value")],
)
def test_the_columns_are_the_same(file: str, figure: str, folder: Path) -> None:
    columns = list(pd.read_csv(folder / file).columns)
    first = columns.index(figure)
    assert columns[first : first + len(PARTS)] == [f"{figure}{part}" for part in PARTS]


@pytest.mark.parametrize("file", [SUMMARY, COMPARISON, LAWS])
def test_no_file_is_read_without_controls_and_scale(file: str, folder: Path) -> None:
    rows = pd.read_csv(folder / file)
    assert set(rows["scale"]) == {0.25}
    assert set(rows["controls"]) == {"missing"}
    assert set(rows["study"]) == {read_journal(folder).study.name}
    bare = [name for name in rows.columns if re.fullmatch(r"_?(low|high|n|method|spread)", name)]
    assert bare == []
