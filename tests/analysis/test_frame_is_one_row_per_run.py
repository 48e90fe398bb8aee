"""`scaling.load` gives one row per run, with the columns that `COLUMNS` documents.

A measure that is declared as a column is in everything that shows or exports measures."""

import gzip
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import scaling
from scaling.analysis.table.columns import COLUMNS, EVERY, GROUPS, SHOWN
from scaling.analysis.table.groups import slug
from scaling.analysis.table.run_fields import own_figures
from scaling.journal.record import Record, ThreadUse, WorkerRecord
from tests.support.runs import NS, changing, of_workers, with_
from tests.support.served_studies import FakeServedStudy
from tests.support.studies import FakeStudy, columns_of

MADE = FakeStudy(loops=("asyncio", "uvloop"), workers=(1, 2), blocks=2)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    MADE.write(tmp_path)
    return tmp_path


def test_a_folder_a_file_and_a_gzipped_file_mean_the_same(folder: Path) -> None:
    file = folder / "journal.jsonl"
    packed = folder / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    frame = scaling.load(folder)
    assert len(frame) == 2 * 2 * 2
    pd.testing.assert_frame_equal(frame, scaling.load(str(file)))
    pd.testing.assert_frame_equal(frame, scaling.load(packed))


def test_columns_are_in_their_order_and_dtypes() -> None:
    assert list(MADE.frame.columns) == list(COLUMNS)
    dtypes = {name: str(dtype) for name, dtype in MADE.frame.dtypes.items()}
    assert dtypes == {name: column.dtype for name, column in COLUMNS.items()}


def test_a_row_says_what_was_run_and_what_came_out() -> None:
    (row,) = [
        row for row in MADE.rows if (row["loop"], row["workers"], row["block"]) == ("uvloop", 2, 1)
    ]
    assert row["parameters"] == '{"payload_bytes":1024}'
    assert row["throughput_per_s"] == pytest.approx(30_000 * 1.35 * 0.97 * 1.984, rel=0.08)
    assert row["operations"] == pytest.approx(row["throughput_per_s"] * row["window_s"], rel=1e-3)
    assert row["start_s"] == pytest.approx(0.62 - 0.3)
    assert (row["valid"], row["validity"], row["reasons"]) == (True, "valid", ())
    assert (row["gil_enabled"], row["allocator"]) == (False, "mimalloc")
    assert row["allocator_state"] == "keeping"
    assert row["at"].tzinfo is not None


def test_a_run_that_was_not_measured_has_a_row_without_figures() -> None:
    crash = changing(outcome="crashed", record=None, signal=11, stderr="boom\n")
    row = FakeStudy(workers=(1,), blocks=1, change=crash).row
    assert (row["valid"], row["reasons"]) == (False, ("crashed",))
    assert row["details"] == ("signal 11; boom",)
    assert pd.isna(row["throughput_per_s"])
    assert pd.isna(row["gil_enabled"])


@pytest.mark.parametrize(
    ("model", "threads"), [("threads", 3), ("processes", 9), ("interpreters", 3)]
)
def test_os_threads_are_counted_once_for_each_process(model: str, threads: int) -> None:
    assert FakeStudy(models=(model,), workers=(2,), blocks=1).row["os_threads"] == threads


def test_a_file_name_is_short_and_its_own() -> None:
    assert slug("…/..") == "workload"
    long = [slug("x" * 300 + end) for end in "ab"]
    assert long[0] != long[1]
    assert all(len(name) <= 120 for name in long)


SERVED = FakeServedStudy(
    configurations=[("3.14t", "threads")], workers=(2,), rates=(800.0,), blocks=1
)
"""One run of a server."""


@pytest.mark.parametrize(("model", "clocks"), [("threads", 1), ("processes", 2), ("forked", 2)])
def test_the_cost_of_a_request_is_that_of_all_threads_of_each_process(
    model: str, clocks: int
) -> None:
    """Workers of one process have read the same clock."""
    use = ThreadUse(process_cpu_ns=6 * NS)
    row = replace(
        SERVED,
        configurations=[("3.14t", model)],
        change=lambda run: of_workers(run, lambda each: with_(each, use=use)),
    ).row
    assert row["cpu_s_per_op"] == pytest.approx(6 * clocks / row["operations"])
    assert SERVED.row["cpu_s_per_op"] == pytest.approx(0.9e-3, rel=0.1), "of the loops alone"


def own(*figures: dict[str, float]) -> Record:
    workers = [WorkerRecord(index=place, figures=each) for place, each in enumerate(figures)]
    return Record(schema=1, outcome="measured", workers=workers)


@pytest.mark.parametrize(
    ("record", "found"),
    [
        (
            own(
                {"settle_s": 1.0, "timer_late_max_s": 0.5, "wakeups_total": 10.0},
                {"settle_s": 3.0, "timer_late_max_s": 0.1, "wakeups_total": 5.0},
            ),
            {"settle_s": 2.0, "timer_late_max_s": 0.5, "wakeups_total": 15.0},
        ),
        (own({"maximal_s": 1.0}, {"maximal_s": 2.0}, {}), {"maximal_s": 1.5}),
        (None, {}),
    ],
)
def test_a_workloads_own_figures_are_averaged_but_for_a_largest_and_a_total(
    record: Record | None, found: dict[str, float]
) -> None:
    assert own_figures(columns_of(record)) == [found]


def test_no_two_measures_take_the_same_place_or_name() -> None:
    shown = [column.shown for column in SHOWN.values() if column.shown]
    assert len({each.place for each in shown}) == len(shown)
    assert len({each.name for each in shown}) == len(shown)
    assert set(COLUMNS) <= set(EVERY)


def test_no_column_is_declared_twice() -> None:
    """The second would replace the first without a word."""
    declared = Counter(name for group in GROUPS for name in group)
    assert [name for name, times in declared.items() if times > 1] == []
