"""`scaling.latency` has every request of a cell."""

from dataclasses import replace
from pathlib import Path

import pytest

import scaling
from scaling.analysis.table.load import Journal
from scaling.base.errors import UsageError
from scaling.journal.record import RunLine
from tests.support.runs import with_
from tests.support.served_studies import FakeServedStudy
from tests.support.studies import FakeStudy

STUDY = FakeServedStudy(rates=(400.0, 1_200.0), workers=(1,), aa_pairs=True, window_s=6.0)
CELL = {"workload": "serve", "arm": "3.14t", "workers": 1, "parameters": {"rate_per_s": 400.0}}


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Journal:
    return STUDY.read(tmp_path_factory.mktemp("study"))


def test_every_request_is_there(journal: Journal) -> None:
    found = scaling.latency(journal, CELL)
    frame = journal.frame.query("arm == '3.14t' and ~twin")
    runs = frame[frame["parameters"].astype(str).str.contains('"rate_per_s":400.0')]
    counts = found.groupby("block")["count"].sum()
    assert counts.tolist() == runs.sort_values("block")["latencies"].tolist()
    for block, run in found.groupby("block"):
        (p99,) = runs.loc[runs["block"] == block, "latency_p99_s"]
        assert run.loc[run["share"] >= 0.99, "latency_s"].iloc[0] == pytest.approx(p99)
        assert run["share"].iloc[-1] == 1


def test_unfinished_ones_are_counted_apart(journal: Journal) -> None:
    behind = scaling.latency(journal, {**CELL, "parameters": {"rate_per_s": 1_200.0}})
    assert behind["unfinished"].sum() > 1_000
    assert (behind["unfinished"] <= behind["count"]).all()


def test_a_path_does_as_well(journal: Journal) -> None:
    assert scaling.latency(journal.path, CELL).equals(scaling.latency(journal, CELL))


def test_the_last_attempt_counts(tmp_path: Path) -> None:
    def again(run: RunLine) -> RunLine:
        return with_(run, attempt=2) if run.block == 1 else run

    found = scaling.latency(replace(STUDY, change=again).read(tmp_path), CELL)
    assert sorted(found["block"].unique()) == [0, 1, 2]


def test_what_was_not_timed_says_so(journal: Journal, tmp_path: Path) -> None:
    plain = FakeStudy(workers=(1,)).read(tmp_path)
    with pytest.raises(UsageError, match="no valid run whose operations were timed"):
        scaling.latency(plain, {"workload": "echo", "workers": 1})
    with pytest.raises(UsageError, match="name the cell's `workers`"):
        scaling.latency(journal, {"workload": "serve"})
