"""A load generator that is late on few cores does not decide which runs are used."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from scaling.analysis.ratios import SENT_LATE
from scaling.analysis.statistics.verdict import Verdict
from scaling.analysis.table.latency import SHORTEST_S, has_no_most, shortest_s
from scaling.analysis.validity import served as validity
from scaling.journal.record import Latency, RunLine
from scaling.report.tables.findings import times
from scaling.report.tables.rates import capacity_grids, rated
from scaling.report.terminal.answer import left_out
from scaling.report.terminal.load_rows import load_lines
from scaling.study.kinds import parse_objective
from scaling.study.questions import OVER_PROCESSES, P99
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
    text = left_out(LATE.results)
    assert "Latencies are upper bounds (load generator late): 12 of 12 runs." in text


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


def test_a_verdict_needs_more_than_the_generators_lateness() -> None:
    for speed, word, why in ((1_050.0, "inconclusive", SENT_LATE), (1_500.0, "slower", "")):
        made = replace(
            LATE, answers_per_s={THREADS: 1_000.0, PROCESSES: speed}, blocks=10, window_s=20.0
        )
        for slip_s, expected in ((20e-6, "slower"), (0.25e-3, word)):
            (found,) = replace(made, slip_s=slip_s).results.ratios.where(OVER_PROCESSES, P99)
            assert found.verdict.word == expected
            if expected == "inconclusive":
                assert found.verdict.why == why


def test_without_a_latency_from_the_send_there_is_no_lower_bound() -> None:
    due, sent = "latency_p99_s", "service_p99_s"
    reasons = [(validity.LATE,), (validity.LATE,), ()]
    runs = pd.DataFrame({due: [2.0] * 3, sent: [1.0, np.nan, 1.0], "reasons": reasons})
    assert shortest_s(runs, due).tolist() == [1.0, SHORTEST_S, 2.0]
    assert shortest_s(runs.drop(columns=sent), due).tolist() == [SHORTEST_S, SHORTEST_S, 2.0]


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


def test_the_same_is_what_is_within_the_margin_whatever_the_lateness() -> None:
    same = Verdict("same", margin=0.1)
    assert same.holds_between(0.95, 1.05)
    assert not same.holds_between(0.8, 1.0)
    assert not same.holds_between(1.0, 1.2)


SLO = parse_objective("p99<20ms")
GRID = tuple(130 * 1.25**k for k in range(6))  # 130 to 397


@pytest.mark.parametrize(
    ("speed", "slip_s", "word", "why"),
    [
        (482.0, 20e-6, "slower", ""),
        (482.0, 1e-3, "inconclusive", SENT_LATE),
        (400.0, 1e-3, "slower", ""),
    ],
)
def test_a_capacity_is_a_lower_bound_then(speed: float, slip_s: float, word: str, why: str) -> None:
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
    results = asked.results
    (ratio,) = results.ratios.where(measure="capacity at p99<20ms")
    known = {each.cell: each for each in results.capacities}
    for one, of in ((known[ratio.of], THREADS), (known[ratio.over], PROCESSES)):
        from_due = asked.capacity_per_s(of, 1, SLO.limit_s)
        from_send = asked.capacity_per_s(of, 1, SLO.limit_s / 0.9)
        assert one.estimate.point == pytest.approx(from_due, rel=0.05)
        assert one.most.point == pytest.approx(from_send if slip_s == 1e-3 else from_due, rel=0.05)
        assert ("up to" in one.text) == (slip_s == 1e-3)
    assert ratio.verdict.word == word
    if why:
        assert ratio.verdict.why == why
    (about,) = rated(results)
    (grid,) = capacity_grids(about, results.ratios)
    assert ("up to" in grid.headings) == (slip_s == 1e-3)
    assert {len(row) for row in grid.rows} == {len(grid.headings)}
    for width in (110, 80, 60):  # beside the capacity, or below it
        assert times(ratio) in "\n".join(load_lines(results, width, 20))
