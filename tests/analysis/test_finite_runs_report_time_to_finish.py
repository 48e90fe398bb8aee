"""A finite run is measured from the release to the last finish, without a window."""

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
import pytest

from scaling.analysis.table.ticks import BUSY, COUNTED, FAIRNESS, FAULTS, LAG
from scaling.journal.record import Record, RunLine, Ticks, WorkerRecord
from tests.support.runs import RELEASED_NS, with_
from tests.support.studies import FakeStudy, figures_of

S = 1_000_000_000
FIGURES = [*COUNTED, *LAG, *FAIRNESS, *BUSY, *FAULTS, "late_rise", "rise", "fall"]
RELEASED = RELEASED_NS


def worker(finish_s: float, operations: int = 1000, **changes: Any) -> WorkerRecord:
    """One that does its operations from the release to its finish; 3 faults and 10 B each."""
    finished = RELEASED + round(finish_s * S)
    ticks = Ticks(
        instant_ns=[RELEASED, finished],
        time_ns=[RELEASED + 1000, finished],
        operations=[0, operations],
        errors=[0, changes.pop("errors", 0)],
        bytes=[0, 10 * operations],
        cpu_ns=[0, round(finish_s * S / 2)],
        minor_faults=[7, 7 + 3 * operations],
    )
    fields: dict[str, Any] = {
        "index": 0,
        "ticks": ticks,
        "released_ns": RELEASED,
        "started_ns": RELEASED + 1000,
        "finished_ns": finished,
    }
    return WorkerRecord(**(fields | changes))


def figures(workers: Sequence[WorkerRecord]) -> dict[str, float]:
    record = Record(schema=1, outcome="measured", finite=True, workers=list(workers))
    return figures_of(record, FIGURES)


def rows(workers: Sequence[WorkerRecord], **changes: Any) -> pd.DataFrame:
    """The frame of a study of one finite run."""

    def as_given(run: RunLine) -> RunLine:
        indexed = [with_(each, index=place) for place, each in enumerate(workers)]
        return with_(run, record__finite=True, record__workers=indexed, **changes)

    return FakeStudy(workers=(len(workers),), blocks=1, change=as_given).frame


def test_throughput_is_all_operations_over_the_time_to_the_last_finish() -> None:
    """And workers are rated by their own time."""
    found = figures([worker(1.0), worker(2.0)])
    assert found["finish_s"] == pytest.approx(2.0)
    assert found["operations"] == 2000
    assert found["throughput_per_s"] == pytest.approx(1000)
    assert found["bytes_per_s"] == pytest.approx(10_000)
    assert found["cpu_s_per_op"] == pytest.approx(1.5 / 2000)
    assert found["cpu_busy"] == pytest.approx(0.75)
    assert found["minor_faults_per_op"] == pytest.approx(3)
    assert found["fairness_min_max"] == pytest.approx(0.5)
    assert found["fairness"] == pytest.approx(1500**2 / (2 * (1000**2 + 500**2)))


def in_rounds(*finish_s: float) -> WorkerRecord:
    """A worker that does 1,000 operations in each round, and goes on at once."""
    ends_ns = [RELEASED + round(sum(finish_s[: k + 1]) * S) for k in range(len(finish_s))]
    count = len(ends_ns) + 1
    ticks = Ticks(
        instant_ns=[RELEASED, *ends_ns],
        time_ns=[RELEASED + 1000, *ends_ns],
        operations=[1000 * k for k in range(count)],
        errors=[0] * count,
        bytes=[0] * count,
        cpu_ns=[k * S for k in range(count)],
        minor_faults=list(range(count)),
    )
    return WorkerRecord(index=0, ticks=ticks)


def test_work_in_rounds_is_done_when_each_round_is() -> None:
    """Both workers have two seconds of work, and each waits for the other for one more."""
    found = figures([in_rounds(0.5, 1.5), in_rounds(1.5, 0.5)])
    assert found["finish_s"] == pytest.approx(3.0)
    assert found["operations"] == 4000
    assert found["throughput_per_s"] == pytest.approx(4000 / 3.0)
    assert found["cpu_busy"] == pytest.approx(4.0 / 3.0)
    assert found["fairness"] == pytest.approx(1.0)
    assert found["finish_gap"] == pytest.approx(1 / 3)


def test_rounds_show_whether_the_rate_is_steady() -> None:
    level = figures([in_rounds(*[1.0, 1.01] * 8), in_rounds(*[1.01, 1.0] * 8)])
    assert (level["rise"], level["fall"]) == (0.0, 0.0)
    slowing = figures([in_rounds(*[1.0] * 8, *[1.5] * 8), in_rounds(*[1.0] * 16)])
    assert slowing["rise"] == 0.0
    assert slowing["fall"] < -0.2
    assert slowing["late_rise"] < 0
    assert math.isnan(figures([worker(1.0), worker(2.0)])["rise"])
    frame = rows([in_rounds(*[1.0] * 8, *[1.5] * 8)])
    assert (frame["steadiness"][0], frame["validity"][0]) == ("slowing", "valid")


def test_what_belongs_to_windows_is_blank() -> None:
    (row,) = rows([worker(1.0), worker(1.1)]).to_dict("records")
    assert row["finite"] is True
    assert row["finish_s"] == pytest.approx(1.1)
    for name in ("overlap", "late_rise", "lag_p50_s", "lag_max_s"):
        assert math.isnan(row[name])
    assert pd.isna(row["steadiness"])
    assert (row["validity"], row["reasons"]) == ("valid", ())


def test_a_quota_is_compared_with_the_time_to_the_finish() -> None:
    held = {"disturbance__throttled_s": 0.05}
    short = rows([worker(1.0)], **held)
    assert short["reasons"].tolist() == [("throttled",)]
    assert rows([worker(60.0)], **held)["validity"].tolist() == ["valid"]


def test_start_up_of_a_finite_run_has_no_warm_up_in_it() -> None:
    frame = rows([worker(1.0)], record__instants_ns__opened=RELEASED)
    assert frame["start_s"].tolist() == [pytest.approx(1.0)]
