"""Latencies of all workers make one histogram; a percentile is given where samples allow it."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scaling
from scaling.analysis.table.latency import PERCENTILES, middles_ns, summary
from scaling.journal.record import Latency, Record, RunLine, WorkerRecord
from tests.support.columns_of import columns_of
from tests.support.fabricate import Made, journal, with_, write
from workers.worker.histogram import Histogram

WITHIN = 0.004  # half a bucket


def histogram(values_ns: list[int]) -> Latency:
    """The latencies as a worker reports them."""
    counted = Histogram()
    for value in values_ns:
        counted.record(value)
    document = counted.document()
    return Latency(**document) if document else Latency()


def test_percentiles_are_numpys_to_a_bucket() -> None:
    drawn = np.random.default_rng(1).lognormal(13, 1.2, 5000).astype(np.int64)
    found = summary([histogram(part.tolist()) for part in np.array_split(drawn, 3)])
    assert found["latencies"] == 5000
    assert found["latency_mean_s"] == pytest.approx(drawn.mean() / 1e9, rel=WITHIN)
    for name, (share, _) in PERCENTILES.items():
        exact = np.quantile(drawn, share, method="inverted_cdf") / 1e9
        assert found[name] == pytest.approx(exact, rel=WITHIN)


@pytest.mark.parametrize(
    ("count", "given"),
    [(1, 1), (9, 1), (10, 2), (19, 2), (20, 3), (99, 3), (100, 4), (999, 4), (1000, 5)],
)
def test_a_percentile_needs_samples(count: int, given: int) -> None:
    found = summary([histogram([1_000_000] * count)])
    assert list(PERCENTILES)[:given] == [name for name in PERCENTILES if name in found]


def test_the_ninth_of_ten_is_the_ninetieth_percentile() -> None:
    assert summary([histogram(list(range(1, 11)))])["latency_p90_s"] == pytest.approx(9e-9)


def test_the_nineteenth_of_twenty_is_the_ninety_fifth_percentile() -> None:
    assert summary([histogram(list(range(1, 21)))])["latency_p95_s"] == pytest.approx(19e-9)


@given(st.lists(st.integers(0, 1 << 43), min_size=1, max_size=50))
def test_middles_lie_in_their_buckets(values_ns: list[int]) -> None:
    for value in values_ns:
        latency = histogram([value])
        (middle,) = middles_ns(np.array(latency.value_ns))
        assert abs(middle - value) <= WITHIN * value


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 1 << 40), st.integers(0, 1000)), max_size=6), max_size=3
    )
)
def test_any_histograms_are_merged(parts: list[list[tuple[int, int]]]) -> None:
    merged = [Latency(value_ns=[v for v, _ in part], count=[c for _, c in part]) for part in parts]
    found = summary(merged)
    assert found["latencies"] == sum(count for part in parts for _, count in part)
    given = [found[name] for name in PERCENTILES if name in found]
    assert given == sorted(given)


def test_an_inconsistent_histogram_gives_no_figure() -> None:
    assert summary([Latency(value_ns=[1, 2], count=[1])]) == {"latencies": 0}


def test_runs_without_latencies_are_blank() -> None:
    timed = WorkerRecord(index=0, latency=histogram([1_000_000] * 20))
    records = [
        None,
        Record(schema=1, outcome="measured", workers=[WorkerRecord(index=0)]),
        Record(schema=1, outcome="measured", workers=[timed, timed, WorkerRecord(index=2)]),
    ]
    found = columns_of(*records)
    assert found["latencies"].tolist() == [0, 0, 40]
    assert np.isnan(found["latency_p50_s"]).tolist() == [True, True, False]
    assert np.isnan(found["latency_p95_s"]).tolist() == [True, True, False]
    assert np.isnan(found["latency_p99_s"]).all()


def test_the_frame_has_them(tmp_path: Path) -> None:
    def timed(run: RunLine) -> RunLine:
        assert run.record is not None
        latency = histogram([2_000_000] * 50)
        return with_(
            run, record__workers=[with_(each, latency=latency) for each in run.record.workers]
        )

    made = Made(workers=(2,), blocks=1)
    (row,) = scaling.load(write(journal(made, timed), tmp_path / "j.jsonl")).to_dict("records")
    assert row["latencies"] == 100
    assert row["latency_p99_s"] == pytest.approx(0.002, rel=WITHIN)
    assert pd.isna(row["latency_p999_s"])
