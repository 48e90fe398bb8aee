"""What is exported is what was measured: the frame, run by run with its units, and the figures that
pyperf, Bencher and github-action-benchmark read.
"""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

from scaling.analysis.table.column import OBJECT
from scaling.analysis.table.columns import COLUMNS
from scaling.analysis.table.load import Journal
from scaling.base.console import new_console
from scaling.base.errors import ScalingError
from scaling.cli.export import export as command
from scaling.journal.record import ProcessFacts, RunLine
from scaling.report.export.formats import FORMATS, export
from scaling.report.export.pyperf_suite import suite, write_suite
from scaling.report.export.trends import bencher, github_action_benchmark, trends
from scaling.report.tables.export import markdown
from tests.support.children import PATIENCE_S
from tests.support.runs import changing, crashed, throttled, with_
from tests.support.served_studies import FakeServedStudy, timed
from tests.support.studies import FakeStudy, in_memory, runtime

QUIET = new_console(quiet=True)
OBJECTS = [name for name, column in COLUMNS.items() if column.dtype == OBJECT]
CELL = "echo weak asyncio 3.14t threads N=2"
NAME_MOST, MEASURE_MOST = 1024, 64  # characters that Bencher takes
SIZES = [{"payload_bytes": 256}, {"payload_bytes": 1024}]


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
    file = export(study.path, to, folder, QUIET)
    assert file
    return file


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


def test_markdown_has_all_tables_and_the_comparison(study: Journal, tmp_path: Path) -> None:
    text = exported(study, "markdown", tmp_path).read_text(encoding="utf-8")
    tables = markdown(EVENTFUL.results)
    for part in tables.split("\n\n"):
        assert part.strip() in text
    assert len(text) > len(tables)
    assert "2 threads on 3.14t" in text


@pytest.mark.parametrize("to", FORMATS)
def test_what_was_exported_twice_is_the_same_file(to: str, study: Journal, tmp_path: Path) -> None:
    contents = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        found = exported(study, to, tmp_path / name)
        assert found == tmp_path / name / FORMATS[to].file_name
        contents.append(found.read_bytes())
    assert contents[0] == contents[1]


def test_help_names_every_format() -> None:
    """It is written by hand, since to import the formats takes longer than to print it."""
    (to,) = command.__annotations__["to"].__metadata__
    assert set(FORMATS) <= set(re.findall(r"[\w-]+", to.help))


def test_bencher_gets_a_value_with_bounds_of_each_measure() -> None:
    found = json.loads(bencher(EIGHT.journal))
    assert len(found) == 4
    assert set(found[CELL]) == {"throughput", "speedup", "cpu-time-per-operation", "memory"}
    for name, measures in found.items():
        assert len(name) <= NAME_MOST
        for measure, metric in measures.items():
            assert len(measure) <= MEASURE_MOST
            assert set(metric) == {"value", "lower_value", "upper_value"}
            assert metric["lower_value"] <= metric["value"] <= metric["upper_value"]


def test_github_gets_each_figure_in_the_list_of_its_direction() -> None:
    study = EIGHT.journal
    more, less = (json.loads(github_action_benchmark(study, better)) for better in ("more", "less"))
    assert len(more) + len(less) == len(trends(study))
    (throughput,) = [each for each in more if each["name"] == f"{CELL}: throughput"]
    assert throughput["unit"] == "operations/s"
    assert throughput["value"] == json.loads(bencher(study))[CELL]["throughput"]["value"]
    assert "–" in throughput["range"]
    assert throughput["extra"] == "95 % interval over 8 blocks"
    assert {each["name"].rpartition(": ")[2] for each in less} == {
        *("cpu-time-per-operation", "memory")
    }


def test_the_throughput_of_an_open_loop_is_no_trend() -> None:
    served = FakeServedStudy(workers=(1,), rates=(400.0,))
    found = {each.name for each in trends(served.journal)}
    assert "latency-p99" in found
    assert not found & {"throughput", "speedup"}


@pytest.mark.parametrize("make", [bencher, suite])
def test_without_a_valid_run_there_is_nothing_to_export(make: Any) -> None:
    with pytest.raises(ScalingError, match="no valid run"):
        make(replace(PLAIN, change=throttled).journal)


def pyperf(*arguments: str | Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pyperf", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def saved(study: FakeStudy, folder: Path, name: str = "suite") -> Path:
    file = folder / f"{name}.json"
    write_suite(study.journal, file)
    return file


def benchmarks(study: Journal) -> dict[str, Any]:
    return {each["metadata"]["name"]: each for each in suite(study)["benchmarks"]}


@pytest.mark.slow
def test_pyperf_compares_two_studies_of_an_arm_each(tmp_path: Path) -> None:
    """The free-threaded build is made twice as fast here, and pyperf says so."""
    speeds = {(arm, "threads", n): n * fast for arm, fast in (("3.14", 1.0), ("3.14t", 2.0))
              for n in (1, 2)}  # fmt: skip
    both = replace(PLAIN, speeds=speeds, variants={"echo": SIZES})
    old, new = (saved(replace(both, arms=(name,)), tmp_path, name) for name in ARMS)
    told = pyperf("compare_to", old, new)
    for size in (256, 1024):
        for n in (1, 2):
            name = f"echo payload_bytes={size} weak asyncio threads N={n}: "
            (verdict,) = [line for line in told.splitlines() if line.startswith(name)]
            assert "us +- " in verdict
            factor, word = verdict.split(": ")[-1].split()
            assert word == "faster"
            assert float(factor.rstrip("x")) == pytest.approx(2, rel=0.1)


@pytest.mark.slow
def test_pyperf_shows_metadata_and_takes_text_from_outside(tmp_path: Path) -> None:
    """Line ends are refused there, and so is a name that comes twice."""
    metadata = pyperf("metadata", saved(replace(PLAIN, arms=("3.14", "3.14t+gil")), tmp_path))
    for told in (
        *("arm: 3.14t+gil", "loop: asyncio", "model: threads", "workers: 2", "workload: echo"),
        *("python_version: 3.14.7", "unit: second", "study: made", "operation: round trips"),
        *("sizing: weak", "scale: 1.0", "cpu_model_name: Example CPU @ 3.00GHz"),
    ):
        assert f"- {told}\n" in metadata, told
    hard = [{"text": text} for text in ("a\nb", "a b", "a\\nb", "", "é · %", "x" * 300)]
    study = replace(PLAIN, name="a\nb", variants={"own.module:Thing": hard}, workers=(1,))
    assert len(benchmarks(study.journal)) == len(hard)
    assert "must" not in pyperf("check", saved(study, tmp_path, "hard"))
    assert saved(study, tmp_path, "hard").read_bytes().isascii()


def test_a_value_is_the_seconds_of_an_operation_of_all_workers() -> None:
    for name, benchmark in benchmarks(PLAIN.journal).items():
        rows = PLAIN.frame[PLAIN.frame["workers"] == int(name.rpartition("=")[2])]
        values = [value for run in benchmark["runs"] for value in run["values"]]
        assert values == [1 / each for each in rows["throughput_per_s"]]
        assert [run["metadata"]["loops"] for run in benchmark["runs"]] == list(rows["operations"])


def test_only_runs_that_count_are_values() -> None:
    """Neither A/A duplicates nor invalid runs, and of a run made again the last attempt."""
    whole = replace(PLAIN, aa_pairs=True)
    first = replace(whole, change=lambda run: run if run.block else throttled(run))
    again = [with_(run, attempt=2) for run in whole.runs if run.block == 1 and not run.cell.twin]
    study = in_memory([*first.lines, *again])
    assert study.frame["twin"].any()
    assert [len(each["runs"]) for each in benchmarks(study).values()] == [2, 2]


def test_another_runtime_is_no_python() -> None:
    study = FakeStudy(
        arms=("node",),
        loops=("own",),
        workers=(1,),
        head={"arms": {"node": runtime("node", "Node 22.1")}},
        change=changing(record__process=ProcessFacts()),
    )
    (benchmark,) = benchmarks(study.journal).values()
    assert benchmark["metadata"]["runtime"] == "Node 22.1"
    assert not [name for name in benchmark["metadata"] if name.startswith("python")]
