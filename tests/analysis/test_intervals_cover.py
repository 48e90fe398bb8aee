"""Every interval covers the true value at its rate, and is narrow; too few values are a range."""

import math
from collections.abc import Iterable

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from scaling.analysis.arrays import Floats, Integers
from scaling.analysis.statistics.hypotheses import discoveries, p_above
from scaling.analysis.statistics.intervals import (
    both_ends,
    differences,
    geometric_means,
    means,
    medians,
    unpaired,
)

SEED = 20261120
SHAPES = ("normal", "t2", "clustered", "exponential")


def lower(table: Floats, level: float) -> Floats:
    ends, _ = both_ends(table, (level,))
    return np.asarray(ends[0])


def drawn(shape: str, studies: int, blocks: int) -> tuple[Floats, float]:
    """Simulated figures of shape (blocks, studies), and their true median; `clustered` ones
    are logarithms of paired ratios.
    """
    rng = np.random.default_rng([SEED, *shape.encode()])
    size = (blocks, studies)
    if shape == "clustered":  # what a block does to its runs, it does to both of a ratio
        block = rng.lognormal(0, 0.3, size)
        runs = 1.5 * block * rng.lognormal(0, 0.03, size), block * rng.lognormal(0, 0.05, size)
        return np.log(runs[0] / runs[1]), math.log(1.5)
    return {
        "normal": (rng.normal(10, 1, size), 10.0),
        "exponential": (rng.exponential(1, size), math.log(2)),
        "t2": (rng.standard_t(2, size), 0.0),
    }[shape]


def error(rate: float, studies: int) -> float:
    return math.sqrt(rate * (1 - rate) / studies)


# ------------------------------------------------------------------------------------ of one figure


@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_cover_at_their_rate(shape: str) -> None:
    for blocks in (6, 9, 20):
        values, true = drawn(shape, 5_000, blocks)
        found = medians(values)
        rate = np.mean((found.low <= true) & (true <= found.high))
        assert 0.94 - 3 * error(0.94, 5_000) <= rate <= 0.96 + error(0.96, 5_000), blocks


def test_it_lies_where_hettmansperger_and_sheather_put_it() -> None:
    """Worked by hand: at n = 8 ranks 1 and 2 cover 1 - 2/256 and 1 - 18/256 of the time."""
    beyond = (254 / 256 - 0.95) / (16 / 256)
    share = 7 * beyond / (1 + 6 * beyond)
    found = medians(np.array([[3.0, 1, 2, 4, 8, 7, 6, 5]]).T)
    assert (found.low[0], found.high[0]) == pytest.approx((1 + share, 8 - share))


@pytest.mark.parametrize("n", [10, 20])
def test_ranks_of_pairs_are_those_of_wilcoxons_test(n: int) -> None:
    """Its p-value of a median just below the lower end is at most, just above it more than 5 %."""
    values = np.random.default_rng(SEED).normal(0, 1, (n, 1))
    end = lower(values, 0.95)[0]
    near = [values[:, 0] - end + by for by in (1e-9, -1e-9)]
    p_of = [scipy.stats.wilcoxon(each, method="exact").pvalue for each in near]
    assert p_of[0] <= 0.05 < p_of[1]


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("estimate", [medians, means])
def test_below_six_it_is_a_range(n: int, estimate: type) -> None:
    found = estimate(np.array([[(k + 1.0) ** 2] for k in range(n)]))
    assert (found.low[0], found.high[0], found.n[0]) == (1, n**2, n)
    assert lower(np.ones((n, 1)), 0.90)[0] == -math.inf


def test_means_are_students_and_add_up_and_geometric_means_multiply() -> None:
    table = np.random.default_rng(5).lognormal(0, 0.3, (7, 3))
    found = means(table)
    for place, column in enumerate(table.T):
        about = (column.mean(), scipy.stats.sem(column))
        expected = scipy.stats.t.interval(0.95, len(column) - 1, *about)
        assert (found.low[place], found.high[place]) == pytest.approx(expected)
    assert found.point.sum() == pytest.approx(means(table.sum(axis=1, keepdims=True)).point[0])
    product = geometric_means(table.prod(axis=1, keepdims=True))
    assert geometric_means(table).point.prod() == pytest.approx(product.point[0])


# --------------------------------------------------------------------------------------- invariants

ANY_FIGURE = st.floats() | st.sampled_from([math.nan, math.inf, -math.inf, 0.0, 1e308, -1e308])
SHAPE = arrays.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=14)
TABLES = arrays.arrays(np.float64, SHAPE, elements=ANY_FIGURE)
RATIOS = arrays.arrays(np.float64, SHAPE, elements=st.floats(2**-20, 2**20) | st.just(math.nan))


def same(one: Iterable[Floats | Integers], other: Iterable[Floats | Integers]) -> bool:
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one, other, strict=True))


@given(TABLES)
def test_a_median_lies_inside_its_bounds_in_any_order_and_whatever_stands_beside_it(
    table: Floats,
) -> None:
    """Zeros, one value, constant ones, duplicates, NaN, the largest and smallest floats."""
    found = medians(table)
    assert found.n.tolist() == np.isfinite(table).sum(axis=0).tolist()
    known = found.n > 0
    assert (found.low[known] <= found.point[known]).all()
    assert (found.point[known] <= found.high[known]).all()
    assert same(found, medians(table[::-1]))
    for place in range(table.shape[1]):
        alone = medians(table[:, place : place + 1])
        assert same(alone, [each[place : place + 1] for each in found])


@given(RATIOS)
def test_the_interval_of_an_inverted_ratio_is_the_inverted_interval(table: Floats) -> None:
    (low,), (high,) = both_ends(np.log(table), (0.95,))
    (other_low,), (other_high,) = both_ends(np.log(1 / table), (0.95,))
    np.testing.assert_allclose(low, -other_high, atol=1e-9)
    np.testing.assert_allclose(high, -other_low, atol=1e-9)


@given(RATIOS)
def test_a_higher_level_reaches_further(table: Floats) -> None:
    ends, _ = both_ends(np.log(table), (0.975, 0.95, 0.90))
    assert (ends[0] <= ends[1]).all()
    assert (ends[1] <= ends[2]).all()


# ----------------------------------------------------------------------------------- of two studies


@pytest.mark.parametrize(("ours", "theirs"), [(6, 6), (8, 20)])
def test_ranks_of_two_studies_are_those_of_the_rank_sum_test(ours: int, theirs: int) -> None:
    rng = np.random.default_rng(SEED)
    one, other = rng.normal(0, 1, ours), rng.normal(0, 1, theirs)
    end, _ = unpaired(one, other, 0.95)
    assert end in differences(one, other)
    p_of = [scipy.stats.mannwhitneyu(one - end + by, other).pvalue for by in (1e-9, -1e-9)]
    assert p_of[0] <= 0.05 < p_of[1]
    range_ = one[:5].min() - other.max(), one[:5].max() - other.min()
    assert unpaired(one[:5], other, 0.95) == range_


# ------------------------------------------------------------------------------------- many at once


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_discoveries_are_those_of_benjamini_and_hochberg(p_values: list[float]) -> None:
    expected = scipy.stats.false_discovery_control(p_values)
    near = np.isclose(expected, 0.05, rtol=1e-9)
    found = discoveries(np.array(p_values))
    assert (found == (expected <= 0.05))[~near].all()


def test_the_p_value_of_a_difference_is_that_of_students_test() -> None:
    table = np.random.default_rng(SEED).normal(0.03, 0.02, (9, 4))
    table[0, 1] = math.nan
    expected = scipy.stats.ttest_1samp(table, 0.02, alternative="greater", nan_policy="omit").pvalue
    assert p_above(table, np.full(4, 0.02)) == pytest.approx(expected)
    assert p_above(np.ones((6, 2)), np.array([0.5, 1.0])).tolist() == [0.0, 1.0]
