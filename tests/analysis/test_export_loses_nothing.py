"""What is exported is the frame, run by run and figure by figure, with the units beside it."""

import json
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from scaling.analysis.results import StudyResults
from scaling.analysis.table.column import OBJECT
from scaling.analysis.table.columns import COLUMNS
from scaling.analysis.table.load import Journal
from scaling.journal.record import RunLine
from scaling.report.export.formats import FORMATS, export
from scaling.report.tables.export import markdown
from tests.support.fabricate import Made, studied, with_
from tests.support.served import timed

MADE = Made(arms=("3.14", "3.14t"), workers=(1, 2), blocks=2, aa_pairs=True)
OBJECTS = [name for name, column in COLUMNS.items() if column.dtype == OBJECT]


def eventful(run: RunLine) -> RunLine:
    """One run is held back by a quota, one crashes with text of every kind."""
    if (run.block, run.position) == (0, 0):
        return with_(run, disturbance__throttled_s=0.5)
    if (run.block, run.position) == (1, 0):
        stderr = 'a,b;"c"\nÄ·§'
        return with_(run, outcome="crashed", record=None, exit_code=1, stderr=stderr)
    return run


@pytest.fixture
def study(tmp_path: Path) -> Journal:
    return studied(tmp_path, MADE, lambda run: timed(eventful(run)))


def exported(study: Journal, to: str) -> Path:
    file = export(study.path, to, study.path.parent, Console(quiet=True))
    assert file
    return file


def things_of(frame: pd.DataFrame) -> dict[str, list[object]]:
    """Objects as JSON has them: a tuple is a list there."""
    return {name: json.loads(json.dumps(list(frame[name]))) for name in OBJECTS}


def read_back(things: pd.DataFrame) -> dict[str, list[object]]:
    return {name: [json.loads(text) for text in things[name]] for name in OBJECTS}


def test_parquet_is_the_frame_with_its_dtypes(study: Journal) -> None:
    found = pd.read_parquet(exported(study, "parquet"))
    plain = [name for name in COLUMNS if name not in OBJECTS]
    pd.testing.assert_frame_equal(found[plain], study.frame[plain], check_categorical=False)
    assert list(found) == list(COLUMNS)
    assert read_back(found) == things_of(study.frame)
    assert any(reasons for reasons in read_back(found)["reasons"])  # the eventful ones are there


def test_parquet_carries_units_definitions_and_what_the_controls_say(study: Journal) -> None:
    schema = pq.read_schema(exported(study, "parquet"))
    for name, column in COLUMNS.items():
        described = schema.field(name).metadata
        assert described[b"unit"].decode() == column.unit
        assert described[b"definition"].decode() == column.definition
    assert schema.metadata[b"study"] == b"made"
    assert schema.metadata[b"cpu_model_name"] == b"Example CPU @ 3.00GHz"
    assert schema.metadata[b"controls"]
    assert schema.metadata[b"scale"] == b"1.0"


def test_csv_is_the_frame_to_the_last_digit(study: Journal) -> None:
    found = pd.read_csv(exported(study, "csv"), parse_dates=["at"])
    assert list(found) == list(COLUMNS)
    assert len(found) == len(study.frame)
    for name, column in COLUMNS.items():
        if column.dtype == "float64":
            assert found[name].astype("float64").equals(study.frame[name]), name
        elif column.dtype in ("int64", "bool"):
            assert list(found[name]) == list(study.frame[name]), name
    assert list(found["at"]) == list(study.frame["at"])
    assert read_back(found) == things_of(study.frame)
    assert list(found["arm"].astype(str)) == list(study.frame["arm"])  # 3.14 may look like a number


def test_markdown_has_all_tables_and_the_comparison(study: Journal) -> None:
    text = exported(study, "markdown").read_text(encoding="utf-8")
    for part in markdown(StudyResults.of(study)).split("\n\n"):
        assert part.strip() in text
    assert len(text) > len(markdown(StudyResults.of(study)))
    assert "2 threads on 3.14t" in text


@pytest.mark.parametrize("to", FORMATS)
def test_what_was_exported_twice_is_the_same_file(to: str, study: Journal, tmp_path: Path) -> None:
    contents = []
    for name in ("first", "second"):
        folder = tmp_path / name
        folder.mkdir()
        found = export(study.path, to, folder, Console(quiet=True))
        assert found
        assert found == folder / FORMATS[to].file_name
        contents.append(found.read_bytes())
    assert contents[0] == contents[1]
