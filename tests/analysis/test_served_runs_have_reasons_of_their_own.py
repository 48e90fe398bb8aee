"""The load of a served run is judged, too: each fault has its word, and a sound run has none."""

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from scaling.analysis.table.load import rows_of
from scaling.analysis.validity import served as limits
from scaling.analysis.validity.served import SERVED_CHECKS
from scaling.journal.record import Cell, Failure, Load, Overload, Record, RunLine
from tests.support.runs import Change, changing, with_
from tests.support.served_studies import FakeServedStudy, histogram
from tests.support.studies import FakeStudy
from workers.services.load import summary

ONE = FakeServedStudy(configurations=[("3.14t", "threads")], workers=(2,), rates=(800.0,), blocks=1)
CLOSED = replace(ONE, rates=(0.0,))


def judged(study: FakeServedStudy, change: Change | None = None) -> dict[str, Any]:
    """The row of the only run."""
    return replace(study, change=change).row


def of_load(run: RunLine) -> Load:
    assert run.load is not None
    return run.load


def slips(run: RunLine) -> RunLine:
    """The generator was stopped for a while: two in a hundred requests were sent 50 ms late."""
    late = np.full(of_load(run).offered, 2e-5)
    late[: len(late) // 50] = 0.05
    return with_(run, load__slip=histogram(late))


def of_workers(run: RunLine, *connections: float, first_idle: bool = False) -> RunLine:
    """Each worker has so many connections; the first may answer nothing."""
    assert run.record is not None
    workers = [
        with_(each, figures={"connections_total": count})
        for each, count in zip(run.record.workers, connections, strict=True)
    ]
    if first_idle:
        nothing = [0] * len(workers[0].ticks.operations)
        workers[0] = with_(workers[0], ticks__operations=nothing, ticks__cpu_ns=nothing)
    return with_(run, record__workers=workers)


def lost(run: RunLine) -> RunLine:
    """The generator ended."""
    error = "DriverError: the load generator ended: no connection to 127.0.0.1"
    record = Record(schema=1, outcome="failed", failure=Failure(phase="load", error=error))
    return with_(run, outcome="failed", load=None, record=record)


FAULTS: list[tuple[str, str, FakeServedStudy, Change | None, str]] = [
    ("generator-late", "invalid", ONE, slips, "P99 of its slip is 49.9 ms, of latency"),
    ("generator-busy", "invalid", ONE, changing(load__busy_fraction=0.75), "used 75% of a core"),
    ("generator-busy", "suspect", CLOSED, changing(load__busy_fraction=0.75), "used 75% of a core"),
    ("load-errors", "invalid", ONE, changing(load__errors={"status 422": 900}), "900 status 422"),
    ("load-errors", "suspect", ONE, changing(load__errors={"reset": 3, "timeout": 1}),
     "4 requests failed (0.05% of"),
    ("generator-misplaced", "invalid", ONE, changing(load__cpus=[1, 2], load__worker_cpus=[0, 1]),
     "workers shared 1"),
    ("uneven-load", "suspect", ONE, lambda run: of_workers(run, 20.0, 12.0), "1.25 times the mean"),
    # What the kernel's dealing does is a result, not a fault that ends all comparison.
    ("uneven-load", "suspect", ONE, lambda run: of_workers(run, 0.0, 32.0, first_idle=True),
     "2.00 times"),
    ("not-all-busy", "invalid", ONE, lambda run: of_workers(run, 16.0, 16.0, first_idle=True), ""),
    ("rate-missed", "suspect", ONE, changing(load__rate_per_s=900.0), "requests/s of 900 that"),
    ("saturated", "suspect", replace(ONE, rates=(2200.0,)), None, "latencies are lower bounds"),
    ("failed", "invalid", ONE, lost, "the load generator ended: no connection to"),
]  # fmt: skip


@pytest.mark.parametrize(("word", "severity", "served", "change", "detail"), FAULTS)
def test_a_fault_has_its_word(
    word: str, severity: str, served: FakeServedStudy, change: Change | None, detail: str
) -> None:
    row = judged(served, change)
    assert row["reasons"][0] == word
    assert row["reasons"] == (word,) or word == "not-all-busy"
    assert row["validity"] == severity
    assert detail in row["details"][0]


def test_every_check_has_such_a_fault_with_the_limits_of_the_generator() -> None:
    words = {word for word, *_ in FAULTS}
    words |= {"load-declined"}  # below
    # test_commands_are_judged_by_what_is_seen_from_outside.py
    words |= {"not-at-rest", "one-process"}
    assert {check.__name__.replace("_", "-") for check in SERVED_CHECKS} <= words
    assert limits.MOST_SLIP == summary.SLIP_MOST
    assert pytest.approx(summary.SLIP_ALWAYS_MS) == limits.SLIP_ALWAYS_S * 1e3
    assert limits.MOST_BUSY == summary.BUSY_MOST
    assert summary.DECIDING == limits.SLIP


def test_a_generator_unlike_that_of_most_runs_of_the_study_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The odd runs are most of the first batch of three, and few of the whole study."""
    monkeypatch.setattr("scaling.analysis.table.load.RUNS_AT_A_TIME", 3)

    def change(run: RunLine) -> RunLine:
        return changing(load__processes=3 if run.block < 2 else 2)(run)

    frame = replace(ONE, blocks=7, change=change).frame
    is_odd = [reasons == ("generator-unlike",) for reasons in frame["reasons"]]
    assert is_odd == (frame["block"] < 2).tolist()
    assert "processes 3, not 2" in frame.loc[is_odd, "details"].iloc[0][0]


@pytest.mark.parametrize("rate", [1.0, 500.0])
def test_workers_with_little_to_do_are_not_called_idle_or_unsteady(rate: float) -> None:
    """The false alarms of chance: `not-steady` is made for one in 200 of level runs."""
    runs = 100
    few = replace(ONE, rates=(rate,), window_s=4.0, blocks=runs, workers=(4,))
    reasons = [word for words in few.frame["reasons"] for word in words]
    assert reasons.count("not-all-busy") == 0
    assert len(reasons) <= 3


WINDOW_S = 30.0
UNSERVED = FakeStudy(window_s=WINDOW_S)


def served(declined: dict[str, int] | None = None, **load: object) -> RunLine:
    """30,000 requests in an open loop."""
    cell = Cell(
        workload="gateway",
        parameters={"rate_per_s": 1_000.0, "deadline_ms": 1_000, "in_flight_limit": 0},
        loop="asyncio",
        arm="3.14t",
        model="threads",
        workers=2,
    )
    asked = Load(rate_per_s=1_000.0, offered=30_000, declined=declined or {}, connections=1_024)
    line = with_(UNSERVED.run(cell, random.Random(1)), load=asked)
    return with_(line, **{f"load__{name}": value for name, value in load.items()})


def test_what_is_declined_is_a_share_and_no_error() -> None:
    declined = {"status 503": 3_000, "status 504": 600}
    line = served(declined)
    rows = rows_of([line], UNSERVED.first_line)
    assert rows["refused_fraction"][0] == pytest.approx(0.1)
    assert rows["deadline_missed_fraction"][0] == pytest.approx(0.02)
    assert rows["load_declined"][0] == 3_600
    assert rows["load_errors"][0] == 0
    assert "load-errors" not in rows["reasons"][0]


def test_declined_requests_of_a_closed_loop_make_its_throughput_suspect() -> None:
    line = served({"status 503": 3_600})
    closed = served({"status 503": 3_600}, rate_per_s=None)
    rows = rows_of([line, closed], UNSERVED.first_line)
    of_open, of_closed = rows["reasons"]
    assert "load-declined" not in of_open  # columns have them
    assert "load-declined" in of_closed
    assert any("12.0% of the requests" in each for each in rows["details"][1])


@pytest.mark.parametrize("after_s", [WINDOW_S - 5, WINDOW_S + 1])
def test_an_overload_beyond_the_window_is_no_missed_rate(after_s: float) -> None:
    inside_s = max(0.0, WINDOW_S - after_s)
    line = served(
        overload=Overload(factor=3.0, after_s=after_s, lasts_s=10.0),
        offered=round(1_000 * (WINDOW_S + 2 * inside_s)),
    )
    rows = rows_of([line], UNSERVED.first_line)
    assert "rate-missed" not in rows["reasons"][0]
