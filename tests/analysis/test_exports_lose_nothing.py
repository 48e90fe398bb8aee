"""What is exported is what was measured: the frame, run by run with its units, and the figures that
Bencher and github-action-benchmark read.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

from scaling.analysis.column import OBJECT
from scaling.analysis.table.columns import COLUMNS
from scaling.analysis.table.load import Journal
from scaling.base.console import new_console
from scaling.journal.record import RunLine
from scaling.report.exports import FORMATS, export, trends
from tests.support.runs import crashed, throttled, with_
from tests.support.served_studies import FakeServedStudy, timed
from tests.support.studies import FakeStudy

QUIET = new_console(quiet=True)
OBJECTS = [name for name, column in COLUMNS.items() if column.dtype == OBJECT]
CELL = "echo weak asyncio 3.14t threads N=2"
NAME_MOST, MEASURE_MOST = 1024, 64  # characters that Bencher takes


def eventful(run: RunLine) -> RunLine:
    """One run is held back by a quota, one crashes with text of every kind."""
    if (run.block, run.position) == (0, 0):
        return timed(throttled(run))
    if (run.block, run.position) == (1, 0):
        stderr = 'a,b;"c"\nÄ·§'
        return with_(crashed(run), stderr=stderr)
    return timed(run)


PLAIN = FakeStudy(workers=(1, 2), ticks=4)
ARMS = ("3.14", "3.14t")
EVENTFUL = replace(PLAIN, arms=ARMS, blocks=2, aa_pairs=True, change=eventful)
EIGHT = replace(PLAIN, arms=ARMS, blocks=8)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Journal:
    return EVENTFUL.read(tmp_path_factory.mktemp("study"))


def exported(study: Journal, to: str, folder: Path) -> Path:
    """The first file of a format."""
    export(study.path, [to], folder, QUIET)
    return folder / next(iter(FORMATS[to]))


def trends_of(study: FakeStudy, to: str, folder: Path) -> list[Any]:
    """What the files of a format have, each read as JSON."""
    export(study.write(folder), [to], None, QUIET)
    return [json.loads((folder / name).read_text("utf-8")) for name in FORMATS[to]]


def things_of(frame: pd.DataFrame) -> dict[str, list[object]]:
    """Objects as JSON has them: a tuple is a list there."""
    return {name: json.loads(json.dumps(list(frame[name]))) for name in OBJECTS}


def read_back(things: pd.DataFrame) -> dict[str, list[object]]:
    return {name: [json.loads(text) for text in things[name]] for name in OBJECTS}


def test_parquet_is_the_frame_with_its_dtypes_units_and_what_the_controls_say(
    study: Journal, tmp_path: Path
) -> None:
    file = exported(study, "parquet", tmp_path)
    found = pd.read_parquet(file)
    plain = [name for name in COLUMNS if name not in OBJECTS]
    pd.testing.assert_frame_equal(found[plain], study.frame[plain], check_categorical=False)
    assert list(found) == list(COLUMNS)
    assert read_back(found) == things_of(study.frame)
    assert any(reasons for reasons in read_back(found)["reasons"])  # the eventful ones are there
    schema = pq.read_schema(file)
    for name, column in COLUMNS.items():
        described = schema.field(name).metadata
        assert described[b"unit"].decode() == column.unit
        assert described[b"better"].decode() == column.better
        assert described[b"definition"].decode() == column.definition
    assert schema.metadata[b"study"] == b"made"
    assert schema.metadata[b"cpu_model_name"] == b"Example CPU @ 3.00GHz"
    assert schema.metadata[b"controls"]
    assert schema.metadata[b"scale"] == b"1.0"


def test_csv_is_the_frame_to_the_last_digit(study: Journal, tmp_path: Path) -> None:
    found = pd.read_csv(exported(study, "csv", tmp_path), parse_dates=["at"])
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


def test_bencher_gets_a_value_with_bounds_of_each_measure(tmp_path: Path) -> None:
    (found,) = trends_of(EIGHT, "bencher", tmp_path)
    assert len(found) == 4
    assert set(found[CELL]) == {"throughput", "speedup", "cpu-time-per-operation", "memory"}
    for name, measures in found.items():
        assert len(name) <= NAME_MOST
        for measure, metric in measures.items():
            assert len(measure) <= MEASURE_MOST
            assert set(metric) == {"value", "lower_value", "upper_value"}
            assert metric["lower_value"] <= metric["value"] <= metric["upper_value"]


def test_github_gets_each_figure_in_the_list_of_its_direction(tmp_path: Path) -> None:
    more, less = trends_of(EIGHT, "github-action-benchmark", tmp_path)
    assert len(more) + len(less) == len(trends(EIGHT.study))
    (throughput,) = [each for each in more if each["name"] == f"{CELL}: throughput"]
    assert throughput["unit"] == "operations/s"
    assert throughput["extra"] == "95 % interval over 8 blocks"
    assert {each["name"].rpartition(": ")[2] for each in less} == {
        *("cpu-time-per-operation", "memory")
    }


def test_the_throughput_of_an_open_loop_is_no_trend() -> None:
    served = FakeServedStudy(workers=(1,), rates=(400.0,))
    found = set(trends(served.study)["figure"])
    assert "latency-p99" in found
    assert not found & {"throughput", "speedup"}
