"""A load generator that is late on few cores does not decide which runs are used."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scaling.analysis.table.latency import has_no_most
from scaling.analysis.tables.words import side_of
from scaling.analysis.validity import served as validity
from scaling.journal.record import Latency, RunLine
from scaling.report.view.notes import disturbed as note
from scaling.study.kinds import parse_objective
from scaling.study.questions import CAPACITY, OVER_PROCESSES, P99
from tests.support.runs import with_
from tests.support.served_studies import FakeServedStudy

THREADS, PROCESSES = ("3.14t", "threads"), ("3.14", "processes")
MADE = FakeServedStudy(
    configurations=(THREADS, PROCESSES),
    answers_per_s={THREADS: 1_000.0, PROCESSES: 1_500.0},
    workers=(1,),
    rates=(400.0,),
    blocks=6,
    window_s=6.0,
)
LATE = replace(MADE, slip_s=0.25e-3)  # P99 of an exponential is 4.6 times its mean


def over_processes(made: FakeServedStudy, measure: str) -> Mapping[Any, Any]:
    ratios = made.study.ratios
    rows = ratios[(ratios["question"] == OVER_PROCESSES) & (ratios["measure"] == measure)]
    (row,) = rows.to_dict("records")
    return row


def longer(times: Latency, factor: int) -> Latency:
    return Latency(value_ns=[factor * each for each in times.value_ns], count=times.count)


def disturbed(run: RunLine) -> RunLine:
    """In block 2 other load makes answers ten times as late, and the generator 20 times."""
    if run.block != 2 or run.load is None:
        return run
    load = run.load
    slip, latency = longer(load.slip, 20), longer(load.latency, 10)
    return with_(run, load__slip=slip, load__latency=latency)


def test_a_generator_that_is_late_in_all_runs_bounds_their_latencies() -> None:
    frame = LATE.frame
    assert frame["valid"].all()
    assert set(frame["reasons"]) == {("generator-late",)}
    assert frame["details"].str[0].str.contains("latencies are upper bounds").all()
    assert "Latencies are upper bounds (load generator late): 12 runs." in note(LATE.study)


def test_a_disturbed_run_is_judged_by_the_latencies_of_its_cell() -> None:
    """Its own latency would hide its slip, while undisturbed runs would be left out."""
    frame = replace(LATE, slip_s=0.15e-3, change=disturbed).frame
    odd = frame["block"] == 2
    own = frame["slip_p99_s"] / frame["latency_p99_s"]
    np.testing.assert_array_less(own[odd], 0.5)  # of its own latency, it would pass
    assert (frame.loc[odd, "validity"] == "invalid").all()
    assert frame.loc[~odd, "valid"].all()


def test_a_closed_loop_is_never_late() -> None:
    assert (replace(LATE, rates=(0.0,)).frame["reasons"] == ()).all()


@pytest.mark.parametrize(("speed", "is_longer"), [(1_080.0, False), (1_500.0, True)])
def test_a_word_needs_more_than_the_generators_lateness(speed: float, is_longer: bool) -> None:
    made = replace(
        LATE, answers_per_s={THREADS: 1_000.0, PROCESSES: speed}, blocks=8, window_s=10.0
    )
    for slip_s, expected in ((20e-6, True), (0.25e-3, is_longer)):
        row = over_processes(replace(made, slip_s=slip_s), P99)
        assert (side_of(row["word"]) < 0) == expected, row["said"]


def test_latencies_have_no_most_where_a_server_fell_behind_or_declined_requests() -> None:
    runs = pd.DataFrame(
        {
            "reasons": [(validity.LATE,), ("saturated",), ()],
            "load_declined": [0, 0, 900],
            "offered_per_s": [100.0] * 3,
            "window_s": [10.0] * 3,
        }
    )
    assert has_no_most(runs).tolist() == [0, 1, 1]


SLO = parse_objective("p99<20ms")
GRID = tuple(130 * 1.25**k for k in range(6))  # 130 to 397


@pytest.mark.parametrize(
    ("speed", "slip_s", "is_less"),
    [(482.0, 20e-6, True), (482.0, 1e-3, False)],
)
def test_a_capacity_is_a_lower_bound_then(speed: float, slip_s: float, is_less: bool) -> None:
    """Answers take 0.9 of the latency from the send on: at most so much more is the capacity."""
    asked = replace(
        MADE,
        answers_per_s={THREADS: speed, PROCESSES: 500.0},
        rates=GRID,
        blocks=8,
        window_s=20.0,
        slip_s=slip_s,
        options={"slo": [SLO.text]},
    )
    row = over_processes(asked, CAPACITY.format(SLO.text))
    measure = asked.study.measures[row["measure"]]
    for place, of in ((row["of"], THREADS), (row["over"], PROCESSES)):
        from_due = asked.capacity_per_s(of, 1, SLO.limit_s)
        from_send = asked.capacity_per_s(of, 1, SLO.limit_s / 0.9)
        most = from_send if slip_s == 1e-3 else from_due
        assert np.median(measure.value[:, place]) == pytest.approx(from_due, rel=0.05)
        assert np.median(measure.most[:, place]) == pytest.approx(most, rel=0.05)
    assert (side_of(row["word"]) < 0) == is_less, row["said"]
