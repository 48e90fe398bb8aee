"""A measure that is declared as a column is in everything that shows or exports measures."""

from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from scaling.analysis.lookup.figure import figure
from scaling.analysis.results import StudyResults
from scaling.analysis.table.columns import (
    COLUMNS,
    EVERY,
    GROUPS,
    MEASURES,
    SHOWN,
    columns_markdown,
)
from scaling.analysis.table.load import Journal, read_journal
from scaling.report.export.formats import write_csv, write_parquet
from scaling.report.tables.export import markdown, summary
from tests.support.fabricate import Made, journal, write

CELL = {"workload": "echo", "arm": "3.14t", "workers": 2}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Journal:
    folder = tmp_path_factory.mktemp("study")
    return read_journal(write(journal(Made(workers=(1, 2), blocks=3)), folder / "journal.jsonl"))


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_is_in_the_frame_and_documented(study: Journal, name: str) -> None:
    column = COLUMNS[name]
    assert str(study.frame[name].dtype) == column.dtype
    row = f"| `{name}` | {column.dtype} | {column.unit or '–'} | {column.better or '–'} |"
    assert row in columns_markdown()
    assert column.definition


@pytest.mark.parametrize("name", MEASURES)
def test_a_measure_can_be_looked_up(study: Journal, name: str) -> None:
    found = figure(study, name, CELL)
    runs = study.frame[(study.frame["workers"] == 2) & study.frame["valid"]]
    assert found.estimate.n == runs[name].notna().sum()
    assert found.what.startswith(MEASURES[name].words or "")


@pytest.mark.parametrize("name", SHOWN)
def test_a_measure_that_is_shown_is_in_tables_where_it_has_values(
    study: Journal, name: str
) -> None:
    shown, results = SHOWN[name].shown, StudyResults.of(study)
    assert shown is not None
    finite = study.frame["finish_s"].notna().any()
    there = bool(study.frame[name].notna().any() and (finite or not shown.finite_only))
    assert (shown.name in summary(results)) == there
    heading = shown.heading.format(operation="round trips")
    assert (f" {heading} |" in markdown(results)) == there


def test_exports_have_every_column(study: Journal, tmp_path: Path) -> None:
    write_csv(study, tmp_path / "runs.csv")
    assert (tmp_path / "runs.csv").read_text().splitlines()[0].split(",") == list(COLUMNS)
    write_parquet(study, tmp_path / "runs.parquet")
    schema = pq.read_schema(tmp_path / "runs.parquet")
    for name, column in COLUMNS.items():
        stored = schema.field(name).metadata
        assert stored[b"unit"].decode() == column.unit
        assert stored[b"better"].decode() == column.better


def test_no_two_measures_take_the_same_place_or_name() -> None:
    shown = [column.shown for column in SHOWN.values() if column.shown]
    assert len({each.place for each in shown}) == len(shown)
    assert len({each.name for each in shown}) == len(shown)
    assert set(COLUMNS) <= set(EVERY)


def test_no_column_is_declared_twice() -> None:
    """The second would replace the first without a word."""
    declared = Counter(name for group in GROUPS for name in group)
    assert [name for name, times in declared.items() if times > 1] == []
