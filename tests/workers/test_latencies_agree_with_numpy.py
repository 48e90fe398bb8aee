"""Percentiles of histograms agree with numpy's of all values; those of all workers are one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaling.analysis.table.latency import SHARES, middles_ns, summary
from scaling.journal.record import Latency, Record, WorkerRecord
from tests.support.studies import columns_of
from workers.worker.handle import LARGEST_NS, PRECISION_BITS, SIZE, Histogram, lower_edge_ns

pytestmark = pytest.mark.one_build

PRECISION = 2.0**-PRECISION_BITS


def counted(values: list[int]) -> dict[str, list[int]]:
    histogram = Histogram()
    for value in values:
        histogram.record(value)
    return histogram.document() or {"value_ns": [], "count": []}


HALF_A_BUCKET = 0.004
SHARES_OF = {f"latency_{name}_s": share for name, share in SHARES.items()}


@given(st.integers(0, LARGEST_NS))
def test_every_value_is_in_the_bucket_that_holds_it(value: int) -> None:
    latency = histogram([value])
    (edge,) = latency.value_ns
    assert latency.count == [1]
    assert 0 <= value - edge <= value * PRECISION
    assert value >= 2 << PRECISION_BITS or value == edge
    (middle,) = middles_ns(np.array(latency.value_ns))
    assert abs(middle - value) <= HALF_A_BUCKET * value


def test_buckets_rise_without_a_gap() -> None:
    edges = [lower_edge_ns(bucket) for bucket in range(SIZE)]
    assert edges == sorted(set(edges))
    assert [counted([edge])["value_ns"] for edge in edges[::97]] == [[edge] for edge in edges[::97]]
    assert lower_edge_ns(SIZE - 1) <= LARGEST_NS < lower_edge_ns(SIZE)
    outside = counted([-1, -(10**18), 10**18, LARGEST_NS + 1])  # is counted at the ends
    assert outside == {"value_ns": [0, lower_edge_ns(SIZE - 1)], "count": [2, 2]}
    assert Histogram().document() is None


def histogram(values_ns: list[int]) -> Latency:
    """The latencies as a worker reports them."""
    return Latency(**counted(values_ns))


def test_percentiles_are_numpys_to_a_bucket() -> None:
    drawn = np.random.default_rng(1).lognormal(13, 1.2, 20_000).astype(np.int64)
    found = summary([histogram(part.tolist()) for part in np.array_split(drawn, 3)])
    assert found["latencies"] == 20_000
    assert found["latency_max_s"] == pytest.approx(drawn.max() / 1e9, rel=HALF_A_BUCKET)
    assert found["latency_mean_s"] == pytest.approx(drawn.mean() / 1e9, rel=HALF_A_BUCKET)
    for name, share in SHARES_OF.items():
        exact = np.quantile(drawn, share, method="inverted_cdf") / 1e9
        assert found[name] == pytest.approx(exact, rel=HALF_A_BUCKET)


@pytest.mark.parametrize(
    ("count", "given"),
    [(39, 0), (40, 1), (199, 1), (200, 2), (399, 2), (400, 3), (1999, 3), (2000, 4)],
)
def test_a_percentile_needs_twenty_samples_beyond_it(count: int, given: int) -> None:
    found = summary([histogram([1_000_000] * count)])
    assert list(SHARES_OF)[:given] == [name for name in SHARES_OF if name in found]
    assert summary([Latency(value_ns=[1, 2], count=[1])]) == {"latencies": 0}  # inconsistent


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 1 << 40), st.integers(0, 1000)), max_size=6), max_size=3
    )
)
def test_any_histograms_are_merged(parts: list[list[tuple[int, int]]]) -> None:
    merged = [Latency(value_ns=[v for v, _ in part], count=[c for _, c in part]) for part in parts]
    found = summary(merged)
    assert found["latencies"] == sum(count for part in parts for _, count in part)
    given = [found[name] for name in SHARES_OF if name in found]
    assert given == sorted(given)


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
