"""Percentiles of a fixed-size histogram agree with numpy's percentiles of all values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.worker.handle import LARGEST_NS, PRECISION_BITS, SIZE, Histogram, lower_edge_ns

pytestmark = pytest.mark.one_build

PRECISION = 2.0**-PRECISION_BITS
PERCENTILES = [0, 1, 10, 50, 90, 99, 99.9, 99.99, 100]
EVERY = st.integers(0, LARGEST_NS)


def counted(values: list[int]) -> dict[str, list[int]]:
    histogram = Histogram()
    for value in values:
        histogram.record(value)
    return histogram.document() or {"value_ns": [], "count": []}


def drawn(kind: str, size: int) -> list[int]:
    random = np.random.default_rng(7)
    draws = {
        "exponential": random.exponential(5e6, size),
        "lognormal": random.lognormal(12, 2, size),
        "uniform": random.uniform(0, 1_000, size),
        "two humps": np.where(random.random(size) < 0.98, 80_000, 3e9) * random.uniform(1, 2, size),
    }
    return [round(value) for value in draws[kind]]


@pytest.mark.parametrize("kind", ["exponential", "lognormal", "uniform", "two humps"])
def test_percentiles_are_within_a_bucket_of_the_exact_ones(kind: str) -> None:
    values = drawn(kind, 50_000)
    buckets = counted(values)
    assert sum(buckets["count"]) == len(values)
    found = np.percentile(
        np.repeat(buckets["value_ns"], buckets["count"]), PERCENTILES, method="inverted_cdf"
    )
    exact = np.percentile(values, PERCENTILES, method="inverted_cdf")
    assert (found <= exact).all()  # the lower edge of a value's bucket
    assert (exact - found <= exact * PRECISION).all()


@given(EVERY)
def test_every_value_is_in_the_bucket_that_holds_it(value: int) -> None:
    ((edge,), (count,)) = counted([value]).values()
    assert count == 1
    assert 0 <= value - edge <= value * PRECISION
    assert value >= 2 << PRECISION_BITS or value == edge


@given(st.lists(EVERY), st.lists(EVERY))
def test_counts_of_two_histograms_add_up_to_that_of_all(one: list[int], other: list[int]) -> None:
    together = dict(zip(*counted(one + other).values(), strict=True))
    apart = [dict(zip(*counted(values).values(), strict=True)) for values in (one, other)]
    edges = apart[0].keys() | apart[1].keys()
    assert together == {edge: apart[0].get(edge, 0) + apart[1].get(edge, 0) for edge in edges}


def test_buckets_rise_without_a_gap() -> None:
    edges = [lower_edge_ns(bucket) for bucket in range(SIZE)]
    assert edges == sorted(set(edges))
    assert [counted([edge])["value_ns"] for edge in edges[::97]] == [[edge] for edge in edges[::97]]
    assert lower_edge_ns(SIZE - 1) <= LARGEST_NS < lower_edge_ns(SIZE)


def test_what_lies_outside_is_counted_at_the_ends() -> None:
    buckets = counted([-1, -(10**18), 10**18, LARGEST_NS + 1])
    assert buckets == {"value_ns": [0, lower_edge_ns(SIZE - 1)], "count": [2, 2]}


def test_an_empty_one_gives_no_figure() -> None:
    assert Histogram().document() is None
