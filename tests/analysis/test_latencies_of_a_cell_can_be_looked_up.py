"""`scaling.latency` has every request of a cell, and `--to hdr` writes it as HdrHistogram does."""

import re
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import scaling
from scaling.analysis.lookup.tables import TimedRun
from scaling.analysis.table.load import Journal
from scaling.base.errors import UsageError
from scaling.journal.record import Cell, Latency, RunLine
from scaling.report.export.percentiles import distribution, write_percentiles
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


def timed(value_ns: Sequence[int], count: Sequence[int]) -> TimedRun:
    histogram = Latency(value_ns=list(value_ns), count=list(count))
    cell = Cell(workload="serve", loop="asyncio", arm="3.14t", model="threads", workers=1)
    return TimedRun(cell, 0, [histogram], Latency())


HEAD = "       Value     Percentile TotalCount 1/(1-Percentile)"
LINE = re.compile(r" *\d+\.\d{3} [01]\.\d{12} +\d+( +\d+\.\d\d)?")


def test_the_format_is_hdrhistograms() -> None:
    """Two requests of 1 µs, one of 2 µs, one of 100 µs, worked through by hand.

    Five ticks for the half below 50 %, five for the quarter below 75 %, and so on. 1,000, 2,000 and
    100,000 ns are in buckets of 4, 8 and 512 ns.
    """
    text = distribution([timed([1_000, 2_000, 99_840], [2, 1, 1])])
    head, blank, *lines = text.splitlines()
    assert (head, blank) == (HEAD, "")
    shares = [0, 0.1, 0.2, 0.3, 0.4, 0.5]
    expected = [f"       0.001 {s:2.12f}          2 {1 / (1 - s):14.2f}" for s in shares]
    shares = [0.55, 0.6, 0.65, 0.7, 0.75]
    expected += [f"       0.002 {s:2.12f}          3 {1 / (1 - s):14.2f}" for s in shares]
    expected += [f"       0.100 {0.775:2.12f}          4 {1 / 0.225:14.2f}"]
    expected += [f"       0.100 {1.0:2.12f}          4"]
    assert lines[:-3] == expected
    assert lines[-3] == "#[Mean    =        0.026, StdDeviation   =        0.043]"
    assert lines[-2] == "#[Max     =        0.100, Total count    =            4]"
    assert lines[-1] == "#[Buckets =           37, SubBuckets     =          256]"


def test_an_archive_has_each_cell(journal: Journal, tmp_path: Path) -> None:
    file = tmp_path / "latencies.zip"
    write_percentiles(journal, file)
    with zipfile.ZipFile(file) as archive:
        names = archive.namelist()
        texts = {name: archive.read(name).decode() for name in names}
    assert len(names) == 4
    (name,) = (each for each in names if "at-400-s" in each and "3.14t" in each)
    _, _, *lines = texts[name].splitlines()
    rows = [line for line in lines if not line.startswith("#")]
    assert all(LINE.fullmatch(line) for line in rows)
    found = scaling.latency(journal, CELL)
    assert f"Total count    = {found['count'].sum():12d}]" in texts[name]
    p90 = next(float(row.split()[0]) for row in rows if float(row.split()[1]) >= 0.9)
    every = np.repeat(found["latency_s"], found["count"])
    assert p90 / 1e3 == pytest.approx(np.quantile(every, 0.9), rel=0.01)
    (behind,) = (each for each in names if "at-1200-s" in each and "3.14t" in each)
    assert "#[Unfinished = " in texts[behind]
