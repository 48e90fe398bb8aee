"""Latencies of all workers make one histogram; a percentile is given where samples allow it."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scaling
from scaling.analysis.table.latency import SHARES, middles_ns, summary
from scaling.journal.record import Latency, Record, RunLine, WorkerRecord
from tests.support.columns_of import columns_of
from tests.support.fabricate import Made, journal, with_, write
from workers.worker.handle import Histogram

pytestmark = pytest.mark.one_build

WITHIN = 0.004  # half a bucket
PERCENTILES = {f"latency_{name}_s": share for name, share in SHARES.items()}


def histogram(values_ns: list[int]) -> Latency:
    """The latencies as a worker reports them."""
    counted = Histogram()
    for value in values_ns:
        counted.record(value)
    document = counted.document()
    return Latency(**document) if document else Latency()


def test_percentiles_are_numpys_to_a_bucket() -> None:
    drawn = np.random.default_rng(1).lognormal(13, 1.2, 20_000).astype(np.int64)
    found = summary([histogram(part.tolist()) for part in np.array_split(drawn, 3)])
    assert found["latencies"] == 20_000
    assert found["latency_max_s"] == pytest.approx(drawn.max() / 1e9, rel=WITHIN)
    assert found["latency_mean_s"] == pytest.approx(drawn.mean() / 1e9, rel=WITHIN)
    for name, share in PERCENTILES.items():
        exact = np.quantile(drawn, share, method="inverted_cdf") / 1e9
        assert found[name] == pytest.approx(exact, rel=WITHIN)


@pytest.mark.parametrize(
    ("count", "given"),
    [(39, 0), (40, 1), (199, 1), (200, 2), (399, 2), (400, 3), (1999, 3), (2000, 4), (19999, 4)],
)
def test_a_percentile_needs_twenty_samples_beyond_it(count: int, given: int) -> None:
    found = summary([histogram([1_000_000] * count)])
    assert list(PERCENTILES)[:given] == [name for name in PERCENTILES if name in found]


@pytest.mark.parametrize(("name", "count"), [("p50", 20), ("p90", 36), ("p95", 38)])
def test_a_percentile_is_that_of_the_nearest_rank(name: str, count: int) -> None:
    """Of forty values, ten times each, the 20th, 36th and 38th."""
    found = summary([histogram(list(range(1, 41)) * 10)])
    assert found[f"latency_{name}_s"] == pytest.approx(count * 1e-9)


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
    timed = WorkerRecord(index=0, latency=histogram([1_000_000] * 200))
    records = [
        None,
        Record(schema=1, outcome="measured", workers=[WorkerRecord(index=0)]),
        Record(schema=1, outcome="measured", workers=[timed, timed, WorkerRecord(index=2)]),
    ]
    found = columns_of(*records)
    assert found["latencies"].tolist() == [0, 0, 400]
    assert np.isnan(found["latency_p50_s"]).tolist() == [True, True, False]
    assert np.isnan(found["latency_p95_s"]).tolist() == [True, True, False]
    assert np.isnan(found["latency_p99_s"]).all()


def test_the_frame_has_them(tmp_path: Path) -> None:
    def timed(run: RunLine) -> RunLine:
        assert run.record is not None
        latency = histogram([2_000_000] * 1_000)
        return with_(
            run, record__workers=[with_(each, latency=latency) for each in run.record.workers]
        )

    made = Made(workers=(2,), blocks=1)
    (row,) = scaling.load(write(journal(made, timed), tmp_path / "j.jsonl")).to_dict("records")
    assert row["latencies"] == 2_000
    assert row["latency_p99_s"] == pytest.approx(0.002, rel=WITHIN)
    assert pd.isna(row["latency_p999_s"])
