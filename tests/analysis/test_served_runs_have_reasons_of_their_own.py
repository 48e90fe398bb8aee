"""The load of a served run is judged, too: each fault has its word, and a sound run has none."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scaling.analysis.table.generator import GENERATOR
from scaling.analysis.table.load import rows_of
from scaling.analysis.table.processes import SHARED
from scaling.analysis.validity import served as limits
from scaling.analysis.validity.served import SERVED_CHECKS
from scaling.journal.record import Failure, Load, Record, RunLine
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
    words |= {"load-declined"}  # test_declined_requests_are_no_errors.py
    # test_commands_are_judged_by_what_is_seen_from_outside.py
    words |= {"not-at-rest", "one-process"}
    assert {check.__name__.replace("_", "-") for check in SERVED_CHECKS} <= words
    assert limits.MOST_SLIP == summary.SLIP_MOST
    assert pytest.approx(summary.SLIP_ALWAYS_MS) == limits.SLIP_ALWAYS_S * 1e3
    assert limits.MOST_BUSY == summary.BUSY_MOST
    assert summary.DECIDING == limits.SLIP


def test_a_generator_unlike_that_of_most_runs_is_named() -> None:
    """A slice that was not granted, or another number of processes, in one run of four."""
    for name, value, detail in (
        ("slice_ns", None, "scheduling slice (ns) None, not 100000"),
        ("processes", 3, "processes 3, not 2"),
    ):

        def change(run: RunLine, name: str = name, value: int | None = value) -> RunLine:
            usual = {"load__slice_ns": 100_000, "load__processes": 2}
            return with_(run, **(usual if run.block != 2 else usual | {f"load__{name}": value}))

        frame = replace(ONE, blocks=4, change=change).frame
        odd = frame[frame["block"] == 2].iloc[0]
        assert (odd["validity"], odd["reasons"]) == ("suspect", ("generator-unlike",))
        assert detail in odd["details"][0]
        assert (frame.loc[frame["block"] != 2, "reasons"] == ()).all()


def test_most_runs_are_those_of_the_study_and_not_of_a_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The odd runs are most of the first three, and few of the whole study."""
    monkeypatch.setattr("scaling.analysis.table.load.RUNS_AT_A_TIME", 3)

    def change(run: RunLine) -> RunLine:
        return changing(load__processes=3 if run.block < 2 else 2)(run)

    frame = replace(ONE, blocks=7, change=change).frame
    is_odd = [reasons == ("generator-unlike",) for reasons in frame["reasons"]]
    assert is_odd == (frame["block"] < 2).tolist()


def wakes_up(run: RunLine) -> RunLine:
    """Slip of an idle machine: half of a latency of 0.15 ms, but not more than waking up takes."""
    count = of_load(run).offered
    slip, latency = histogram(np.full(count, 8e-5)), histogram(np.full(count, 1.5e-4))
    return with_(run, load__slip=slip, load__latency=latency)


def slips_at_the_end(run: RunLine) -> RunLine:
    """Of 200 requests: their P99 is not given, so nothing is said of its slip."""
    late = np.full(of_load(run).offered, 2e-5)
    late[:4] = 0.004
    return with_(run, load__slip=histogram(late))


@pytest.mark.parametrize(
    ("rate", "workers", "change"),
    [
        *((0.0, 1, None), (0.0, 2, None), (400.0, 1, None), (1600.0, 2, None)),
        (800.0, 2, changing(load__cpus=[1], load__worker_cpus=[0])),  # CPUs of its own
        *((800.0, 2, wakes_up), (20.0, 2, slips_at_the_end)),
    ],
)
def test_a_run_without_fault_is_valid(rate: float, workers: int, change: Change | None) -> None:
    row = judged(replace(ONE, rates=(rate,), workers=(workers,)), change)
    assert (row["validity"], row["details"]) == ("valid", ())


@pytest.mark.parametrize("rate", [1.0, 20.0, 500.0])
def test_workers_with_little_to_do_are_not_called_idle_or_unsteady(rate: float) -> None:
    """The false alarms of chance: `not-steady` is made for one in 200 of level runs."""
    runs = 100
    few = replace(ONE, rates=(rate,), window_s=4.0, blocks=runs, workers=(4,))
    reasons = [word for words in few.frame["reasons"] for word in words]
    assert reasons.count("not-all-busy") == 0
    assert len(reasons) <= 3


def test_runs_without_a_load_are_blank_as_each_column_says_of_one() -> None:
    study = FakeStudy(workers=(1, 2), blocks=1)
    rows = rows_of(study.runs, study.first_line)
    assert not rows.has_load
    for name, column in {**GENERATOR, **SHARED}.items():
        assert callable(column.read)
        blank, read = (np.asarray(each, column.dtype) for each in (rows[name], column.read(rows)))
        if name != "unconnected_workers":  # 0 of none
            assert pd.Series(blank).equals(pd.Series(read)), name
