"""`scaling.load` gives one row per run, with the columns that `COLUMNS` documents."""

import gzip
from pathlib import Path

import pandas as pd
import pytest

import scaling
from scaling.analysis.table.columns import COLUMNS, columns_markdown
from scaling.analysis.table.labels import labels, short_labels, slug
from scaling.analysis.table.load import read_journal
from scaling.journal.record import CeilingLine, Parameters, RunLine
from tests.support.fabricate import Made, journal, with_, write

MADE = Made(loops=("asyncio", "uvloop"), workers=(1, 2), blocks=2)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(journal(MADE), tmp_path / "journal.jsonl")
    return tmp_path


def test_a_folder_a_file_and_a_gzipped_file_mean_the_same(folder: Path) -> None:
    file = folder / "journal.jsonl"
    packed = folder / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    frame = scaling.load(folder)
    assert len(frame) == 2 * 2 * 2
    pd.testing.assert_frame_equal(frame, scaling.load(str(file)))
    pd.testing.assert_frame_equal(frame, scaling.load([packed]))


def test_columns_are_as_documented(folder: Path) -> None:
    frame = scaling.load(folder)
    assert list(frame.columns) == list(COLUMNS)
    assert {name: str(dtype) for name, dtype in frame.dtypes.items()} == {
        name: column.dtype for name, column in COLUMNS.items()
    }
    for name, column in COLUMNS.items():
        assert f"| `{name}` | {column.dtype} |" in columns_markdown()


def test_a_row_says_what_was_run_and_what_came_out(folder: Path) -> None:
    frame = scaling.load(folder)
    (row,) = frame[
        (frame["loop"] == "uvloop") & (frame["workers"] == 2) & (frame["block"] == 1)
    ].to_dict("records")
    assert row["parameters"] == '{"payload_bytes":1024}'
    assert row["throughput_per_s"] == pytest.approx(30_000 * 1.35 * 0.97 * 1.984, rel=0.08)
    assert row["operations"] == pytest.approx(row["throughput_per_s"] * row["window_s"], rel=1e-3)
    assert row["start_s"] == pytest.approx(0.62 - 0.3)
    assert (row["valid"], row["validity"], row["reasons"]) == (True, "valid", ())
    assert (row["gil_enabled"], row["allocator"]) == (False, "mimalloc")
    assert row["allocator_state"] == "keeping"
    assert row["at"].tzinfo is not None


def test_parameters_are_all_there_with_sorted_keys(tmp_path: Path) -> None:
    made = Made(variants={"echo": [{"tls": False, "connections": 8, "kind": "streams"}]}, blocks=1)
    frame = scaling.load(write(journal(made), tmp_path / "j.jsonl"))
    assert set(frame["parameters"]) == {'{"connections":8,"kind":"streams","tls":false}'}


def test_a_run_that_was_not_measured_has_a_row_without_figures(tmp_path: Path) -> None:
    def crash(run: RunLine) -> RunLine:
        if run.block or run.position:
            return run
        return with_(run, outcome="crashed", record=None, signal=11, stderr="boom\n")

    frame = scaling.load(write(journal(MADE, crash), tmp_path / "j.jsonl"))
    assert len(frame) == 8
    (row,) = frame[frame["outcome"] == "crashed"].to_dict("records")
    assert (row["valid"], row["reasons"]) == (False, ("crashed",))
    assert row["details"] == ("signal 11; boom",)
    assert pd.isna(row["throughput_per_s"])
    assert pd.isna(row["gil_enabled"])


@pytest.mark.parametrize(
    ("model", "threads"), [("threads", 3), ("processes", 9), ("interpreters", 3)]
)
def test_os_threads_are_counted_once_for_each_process(
    tmp_path: Path, model: str, threads: int
) -> None:
    def tells_of_itself(run: RunLine) -> RunLine:
        assert run.record is not None
        each = None if model == "threads" else run.record.process
        workers = [with_(worker, process=each) for worker in run.record.workers]
        return with_(run, record__workers=workers)

    made = Made(models=(model,), workers=(2,), blocks=1)
    frame = scaling.load(write(journal(made, tells_of_itself), tmp_path / "j.jsonl"))
    assert frame["os_threads"].tolist() == [threads]


def test_a_run_has_a_place_in_its_block(folder: Path) -> None:
    frame = scaling.load(folder)
    assert [group["position"].tolist() for _, group in frame.groupby("block")] == [[0, 1, 2, 3]] * 2
    assert frame["at"].is_monotonic_increasing


def test_several_journals_make_one_frame_and_stay_separate(folder: Path, tmp_path: Path) -> None:
    other = write(journal(Made(name="other", arms=("3.14",), blocks=1)), tmp_path / "b.jsonl")
    frame = scaling.load([folder, folder, other])
    assert frame["study"].value_counts().to_dict() == {"made": 8, "made #2": 8, "other": 3}
    assert list(frame.columns) == list(COLUMNS)
    assert str(frame["arm"].dtype) == "category"


def test_a_journal_brings_its_study_and_its_ceilings(tmp_path: Path) -> None:
    lines = [*journal(MADE), CeilingLine(service="site", requests_per_s=9000.0)]
    found = read_journal(write(lines, tmp_path / "j.jsonl"))
    assert found.study.arms["3.14t"].build == "3.14t"
    assert [ceiling.service for ceiling in found.ceilings] == ["site"]
    assert found.notes == []


def test_a_label_has_the_parameters_that_vary_and_no_others(tmp_path: Path) -> None:
    variants = [{"payload_bytes": size, "tls": False} for size in (256, 1024)]
    made = Made(variants={"echo": variants, "compute": [{"iterations": 1000}]}, blocks=1)
    frame = scaling.load(write(journal(made), tmp_path / "j.jsonl"))
    found = set(labels(frame).values())
    assert found == {"echo · payload_bytes=256", "echo · payload_bytes=1024", "compute"}


def test_labels_of_different_parameters_differ() -> None:
    found = short_labels(
        [("a", Parameters.of(each)) for each in ({"x": True}, {"x": 1}, {})], simulated=False
    )
    assert sorted(found.values()) == ["a", "a · x=1", "a · x=true"]


def test_a_file_name_is_short_and_its_own() -> None:
    assert slug("echo · payload_bytes=256") == "echo-payload_bytes-256"
    assert slug("…/..") == "workload"
    long = [slug("x" * 300 + end) for end in "ab"]
    assert long[0] != long[1]
    assert all(len(name) <= 120 for name in long)
