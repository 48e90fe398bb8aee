"""Every figure of a run follows from its ticks as its definition says."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaling.analysis.table.ticks import (
    BUSY,
    COUNTED,
    FAIRNESS,
    FAULTS,
    LAG,
    longest_stall,
    overlap,
)
from scaling.journal.record import Record, Ticks, WorkerRecord
from tests.support.studies import columns_of, figures_of

S = 1_000_000_000
FIGURES = [*COUNTED, *LAG, *FAIRNESS, *BUSY, *FAULTS, "late_rise", "rise", "fall"]


def worker(rate: float, ticks: int = 11, late_ns: int = 0, **changes: Any) -> WorkerRecord:
    """One second in ten sub-windows, `rate` operations a second, half a core, 3 faults per op."""
    instants = [S * k // (ticks - 1) for k in range(ticks)]
    operations = [round(rate * instant / S) for instant in instants]
    readings: dict[str, Any] = {
        "instant_ns": instants,
        "time_ns": [instant + late_ns for instant in instants],
        "operations": operations,
        "errors": [0] * ticks,
        "bytes": [10 * count for count in operations],
        "cpu_ns": [instant // 2 for instant in instants],
        "minor_faults": [3 * count for count in operations],
    }
    readings |= {name: value for name, value in changes.items() if name in readings}
    return WorkerRecord(
        index=0,
        ticks=Ticks(**readings),
        busy_from_ns=changes.get("busy_from_ns", -S),
        busy_until_ns=changes.get("busy_until_ns", 2 * S),
        serves=changes.get("serves", False),
    )


def figures(*workers: WorkerRecord) -> dict[str, float]:
    record = Record(schema=1, outcome="measured", workers=list(workers))
    return figures_of(record, FIGURES)


def test_what_workers_do_is_added_up() -> None:
    found = figures(worker(100), worker(300))
    assert found["throughput_per_s"] == pytest.approx(400)
    assert found["operations"] == 400
    assert found["bytes_per_s"] == pytest.approx(4000)
    assert found["window_s"] == pytest.approx(1)
    assert found["cpu_busy"] == pytest.approx(1.0)
    assert found["cpu_s_per_op"] == pytest.approx(1.0 / 400)
    assert found["minor_faults_per_op"] == pytest.approx(3)
    assert found["fairness"] == pytest.approx(400**2 / (2 * (100**2 + 300**2)))
    assert found["fairness_min_max"] == pytest.approx(1 / 3)
    assert found["errors"] == 0


def test_operations_before_the_first_tick_do_not_count() -> None:
    early = worker(100, operations=[5000 + 10 * k for k in range(11)])
    assert figures(early)["throughput_per_s"] == pytest.approx(100)


def test_throughput_goes_by_the_ticks_own_times_not_by_the_schedule() -> None:
    times = [0, *[S * k // 10 for k in range(1, 10)], 2 * S]  # the last tick came a second late
    found = figures(worker(100, time_ns=times))
    assert found["throughput_per_s"] == pytest.approx(50)
    assert found["lag_max_s"] == pytest.approx(1)
    assert found["lag_p50_s"] == 0


def test_a_tick_before_its_instant_is_early_and_not_negative_lag() -> None:
    found = figures(worker(100, late_ns=-1_000_000))
    assert found["early_max_s"] == pytest.approx(0.001)
    assert found["lag_p50_s"] == found["lag_max_s"] == 0


def stalling(rate: float, stall: range, **changes: Any) -> WorkerRecord:
    """As `worker`, in 20 sub-windows, of which those in `stall` go without operations."""
    operations = [0]
    for k in range(20):
        operations.append(operations[-1] + (0 if k in stall else round(rate / 20)))
    busy = [sum(k not in stall for k in range(done)) for done in range(21)]
    cpu_ns = [S // 40 * done for done in busy]
    return worker(rate, 21, **({"operations": operations, "cpu_ns": cpu_ns} | changes))


def blocked() -> WorkerRecord:
    """Its ticks come when its loop is free again, all at once; it did 50 operations before."""
    times = [0, *[S * 9 // 10 + k * 10_000 for k in range(18)], S * 95 // 100, S]
    operations = [0, *[50] * 18, 100, 150]
    cpu_ns = [S // 1000 * count // 2 for count in operations]
    return worker(1000, 21, time_ns=times, operations=operations, cpu_ns=cpu_ns)


LATE, EARLY = worker(100, busy_from_ns=S // 4), worker(100, busy_until_ns=S // 2)
SHORT = [k * S // 50 for k in range(21)]  # a window of 0.4 s
LONG_ONE = stalling(1000, range(2, 20), cpu_ns=[S // 40 * k for k in range(21)])


@pytest.mark.parametrize(
    ("workers", "overlap"),
    [
        pytest.param([worker(100), worker(100)], 1, id="both busy"),
        pytest.param([EARLY, LATE], 0.25, id="one starts late, one leaves early"),
        pytest.param([worker(100), worker(100, late_ns=S // 5)], 1, id="late ticks"),
        pytest.param([worker(1000, 21), stalling(1000, range(2, 20))], 0.1, id="a stall"),
        pytest.param([stalling(1000, range(2, 20), cpu_ns=None)], 0.1, id="CPU time unknown"),
        pytest.param([stalling(1000, range(6, 13), time_ns=SHORT)], 1, id="0.14 s without a CPU"),
        pytest.param([stalling(1000, range(2, 17), time_ns=SHORT)], 0.25, id="0.3 s without work"),
        pytest.param([worker(1000, 21), blocked()], 0.15, id="a blocked loop"),
        pytest.param([worker(1000, 21), LONG_ONE], 1, id="one long operation"),
        pytest.param([stalling(1000, range(2, 6))], 1, id="a short pause"),
        pytest.param([stalling(40, range(8, 14))], 1, id="few operations, with usual gaps"),
        pytest.param(
            [worker(1000, 21, operations=[k // 2 * 100 for k in range(21)])], 1, id="in bursts"
        ),
    ],
)
def test_overlap_is_the_share_of_the_counted_time_in_which_all_were_busy(
    workers: list[WorkerRecord], overlap: float
) -> None:
    """A worker that stalls is not busy; one that waits for its turn is."""
    assert figures(*workers)["overlap"] == pytest.approx(overlap, abs=0.01)


@given(st.lists(st.lists(st.integers(0, 60), min_size=12, max_size=12), min_size=1, max_size=3))
def test_a_stall_is_looked_for_wherever_there_could_be_one(gained: list[list[int]]) -> None:
    """Runs without a slow stretch are passed over; there must be no stall among them."""
    counts = [np.cumsum([0, *each]) for each in gained]
    workers = [
        worker(0, 13, operations=count.tolist(), cpu_ns=(1000 * count).tolist()) for count in counts
    ]
    (stack,) = columns_of(Record(schema=1, outcome="measured", workers=workers)).stacks
    with np.errstate(divide="ignore", invalid="ignore"):
        worst = float(longest_stall(stack).max())
        assert float(overlap(stack)[0]) == pytest.approx(1 - worst / S)


def test_who_only_serves_is_neither_idle_nor_unfair() -> None:
    serving = worker(0, operations=[0] * 11, serves=True)
    found = figures(worker(100), serving, worker(100))
    assert (found["idle_workers"], found["fairness"]) == (0, 1)
    assert found["fairness_min_max"] == 1
    assert figures(serving)["idle_workers"] == 1  # there is nobody whom it could serve


def test_late_rise_is_the_last_quarter_against_the_rest() -> None:
    rising = [100 * k for k in range(17)] + [1600 + 120 * k for k in range(1, 5)]
    found = figures(worker(0, ticks=21, operations=rising))
    # 20 sub-windows: the last five are 100, 120, 120, 120, 120 against 100
    assert found["late_rise"] == pytest.approx(0.16)
    assert found["rise"] == pytest.approx(0.16 / 1.04)  # of the mean rate
    assert found["fall"] == 0
    assert figures(worker(100))["late_rise"] == pytest.approx(0, abs=1e-9)
    assert math.isnan(figures(worker(100, ticks=5))["late_rise"])


def test_a_clock_that_stands_still_is_seen() -> None:
    times = [S * k // 10 for k in range(11)]
    times[5] = times[4]
    assert figures(worker(100))["in_order"] == 1
    assert figures(worker(100, time_ns=times))["in_order"] == 0


@pytest.mark.parametrize(
    "broken",
    [
        worker(100, operations=[1, 2, 3]),
        worker(100, ticks=11, cpu_ns=None, operations=[]),
        worker(100, bytes=[0] * 10 + [2**64]),
        WorkerRecord(index=0),
    ],
    ids=["too few", "none", "beyond 64 bits", "no ticks"],
)
def test_ticks_that_do_not_fit_together_give_nothing(broken: WorkerRecord) -> None:
    assert all(math.isnan(value) for value in figures(worker(100), broken).values())


@pytest.mark.parametrize("cpu_ns", [None, [0, None, *[S] * 9]])
def test_a_reading_that_is_missing_is_blank_alone(cpu_ns: list[int | None] | None) -> None:
    found = figures(worker(100, cpu_ns=cpu_ns, minor_faults=[None] * 11))
    assert math.isnan(found["cpu_s_per_op"])
    assert math.isnan(found["minor_faults_per_op"])
    assert found["throughput_per_s"] == pytest.approx(100)


def test_runs_of_all_shapes_come_back_in_their_order() -> None:
    runs = [
        Record(schema=1, outcome="measured", workers=[worker(rate, ticks)] * n)
        for rate, ticks, n in ((100, 11, 1), (200, 21, 2), (300, 11, 1), (50, 11, 3))
    ]
    found = columns_of(runs[0], None, *runs[1:])
    np.testing.assert_allclose(found["throughput_per_s"], [100, np.nan, 400, 300, 150])
