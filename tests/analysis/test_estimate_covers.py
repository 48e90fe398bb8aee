"""Every interval covers the true value at its rate, and is narrow; too few values are a range."""

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats
from scipy.special import betainc
from scipy.stats import bootstrap, mannwhitneyu

from scaling.analysis.arrays import Floats
from scaling.analysis.statistics import estimate
from scaling.analysis.statistics.estimate import (
    Estimate,
    bounds_kind,
    geometric_means,
    means,
    median,
    medians,
)
from scaling.base import formats

SEED = 20261120
LEAST = 0.94

type Bounds = tuple[Floats, Floats]


def drawn(shape: str, studies: int, blocks: int) -> tuple[Floats, float]:
    """Simulated figures of shape (studies, blocks), and their true median."""
    rng = np.random.default_rng([SEED, *shape.encode()])
    size = (studies, blocks)
    if shape == "clustered":  # what a block does to its runs, it does to both of a ratio
        block = rng.lognormal(0, 0.3, size)
        runs = 1.5 * block * rng.lognormal(0, 0.03, size), block * rng.lognormal(0, 0.05, size)
        return runs[0] / runs[1], 1.5
    return {
        "normal": (rng.normal(10, 1, size), 10.0),
        "lognormal": (rng.lognormal(0, 1, size), 1.0),
        "exponential": (rng.exponential(1, size), math.log(2)),
        "t2": (rng.standard_t(2, size), 0.0),
        "laplace": (rng.laplace(0, 1, size), 0.0),
    }[shape]


SHAPES = ("normal", "lognormal", "exponential", "t2", "laplace", "clustered")


def chosen(values: Floats) -> Bounds:
    found = medians(values.T, "x")
    return np.array([each.low for each in found]), np.array([each.high for each in found])


def middle(values: Floats, axis: int) -> Floats:
    return np.asarray(np.median(values, axis=axis))


def bootstrapped(method: Literal["percentile", "BCa"]) -> Callable[[Floats], Bounds]:
    def bounds(values: Floats) -> Bounds:
        found = bootstrap(
            (values,), middle, axis=1, n_resamples=499, method=method, rng=SEED, batch=100
        ).confidence_interval
        return np.asarray(found.low), np.asarray(found.high)

    return bounds


def studentised(values: Floats) -> Bounds:
    """Bootstrap of the median over its standard error, which is Maritz's and Jarrett's."""
    studies, n = values.shape
    rng = np.random.default_rng(SEED)
    middle = int(0.5 * n + 0.5)
    weights = np.diff(betainc(middle, n - middle + 1, np.arange(n + 1) / n))

    def error(ordered: Floats) -> Floats:
        mean = ordered @ weights
        deviation: Floats = np.sqrt(np.maximum(ordered**2 @ weights - mean**2, 0))
        return deviation

    point, spread = np.median(values, axis=1), error(np.sort(values, axis=1))
    scores = np.empty((499, studies))
    for row in scores:
        places = rng.integers(0, n, (studies, n))
        again = np.sort(np.take_along_axis(values, places, axis=1), axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            row[:] = (np.median(again, axis=1) - point) / error(again)
    low, high = np.quantile(np.where(np.isfinite(scores), scores, 0), [0.025, 0.975], axis=0)
    return point - high * spread, point - low * spread


def covered(bounds: Bounds, true: float) -> float:
    return float(np.mean((bounds[0] <= true) & (true <= bounds[1])))


@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_cover_at_their_rate(shape: str) -> None:
    for blocks in (6, 7, 8, 9, 20):
        values, true = drawn(shape, 5_000, blocks)
        rate = covered(chosen(values), true)
        error = math.sqrt(LEAST * (1 - LEAST) / len(values))
        assert rate >= LEAST - 3 * error, blocks
        assert rate <= 0.96 + error, blocks  # wider than it says would be dishonest, too


@pytest.mark.thorough
@pytest.mark.parametrize(
    "candidate",
    [bootstrapped("percentile"), bootstrapped("BCa"), studentised],
    ids=["percentile", "BCa", "studentised"],
)
def test_no_bootstrap_covers_at_8_blocks(candidate: Callable[[Floats], Bounds]) -> None:
    simulated = [drawn(shape, 1000, 8) for shape in SHAPES]
    assert np.mean([covered(candidate(values), true) for values, true in simulated]) < LEAST - 0.01


def test_it_lies_where_hettmansperger_and_sheather_put_it() -> None:
    """Worked by hand: at n = 8 ranks 1 and 2 cover 1 - 2/256 and 1 - 18/256 of the time."""
    beyond = (254 / 256 - 0.95) / (16 / 256)
    share = 7 * beyond / (1 + 6 * beyond)
    found = median([3, 1, 2, 4, 8, 7, 6, 5], "x")
    assert (found.low, found.high) == pytest.approx((1 + share, 8 - share))
    few = median(range(1, 7), "x")
    assert 1 < few.low < 2
    assert 5 < few.high < 6


@pytest.mark.parametrize("n", [1, 2, 5])
def test_below_six_it_is_a_range(n: int) -> None:
    found = median([float(k * k) for k in range(n)], "ops/s")
    assert (found.low, found.high) == (0, (n - 1) ** 2)
    assert found.coverage is None
    assert found.method == "median and range"
    assert found.unit == "ops/s"


def test_nothing_is_nothing() -> None:
    for values in ([], [math.nan, math.inf]):
        found = median(values, "x")
        assert (found.n, found.coverage) == (0, None)
        assert math.isnan(found.point)
        assert math.isnan(found.spread)
        assert str(found) == "–"


def test_spread_is_that_of_a_run_and_ignores_outliers() -> None:
    rng = np.random.default_rng(SEED)
    for n in (10, 1000):
        spreads = [median(rng.normal(50, 2, n), "x").spread for _ in range(300)]
        assert np.median(spreads) == pytest.approx(2, rel=0.15)
    calm = median([9, 10, 11, 10, 9, 11, 10], "x")
    assert median([9, 10, 11, 10, 9, 11, 1e9], "x").spread == calm.spread == pytest.approx(1.4826)
    assert calm.scaled(1000, "mx").spread == pytest.approx(1482.6)
    assert math.isnan(median([1], "x").spread)
    assert median([5, 5, 5], "x").spread == 0


ANY_FIGURE = st.floats() | st.sampled_from([math.nan, math.inf, -math.inf, 0.0, 1e308, -1e308])


@given(st.lists(ANY_FIGURE, max_size=40))
def test_a_median_lies_inside_its_bounds(values: list[float]) -> None:
    """Zeros, one value, constant ones, duplicates, NaN, the largest and smallest floats."""
    found = median(values, "x")
    known = sorted(value for value in values if math.isfinite(value))
    assert found.n == len(known)
    if known:
        assert known[0] <= found.low <= found.point <= found.high <= known[-1]
        assert found.spread >= 0 or len(known) == 1
        backwards = median(values[::-1], "x")
        assert (backwards.low, backwards.point, backwards.high) == (
            found.low, found.point, found.high,
        )  # fmt: skip


TABLES = arrays.arrays(
    np.float64,
    arrays.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=12),
    elements=ANY_FIGURE,
)


@given(TABLES)
def test_a_table_is_its_columns(table: Floats) -> None:
    found = medians(table, "x")
    assert len(found) == table.shape[1]
    for ours, column in zip(found, table.T, strict=True):
        assert repr(ours) == repr(median(column, "x"))  # NaN is not equal to itself


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (65_312.0, "65,300"),
        (0.0123456, "0.0123"),
        (0.99999, "1.00"),
        (1.0, "1.00"),
        (12.34, "12.3"),
        (-2.5, "-2.50"),
        (0.0, "0"),
        (1.5e-6, "1.50e-06"),
        (math.nan, "–"),
    ],
)
def test_numbers_have_three_digits_that_count(value: float, text: str) -> None:
    assert formats.number(value) == text


def test_an_estimate_is_reported_with_its_bounds() -> None:
    three = Estimate(65_312.0, 64_100.0, 66_020.0, "ops/s", 3, "median and range")
    assert str(three) == "65,300 (64,100–66,000)"
    assert bounds_kind([three]) == "range of 3 runs"
    eight = median(range(8), "x")
    assert bounds_kind([eight, three]) == "95 % interval over 8 blocks or range of 3 runs"


def test_bounds_below_zero_are_not_joined_with_a_dash() -> None:
    told = str(Estimate(-0.01, -0.0215, -0.00765, "", 8, "made", 0.95))
    assert told == "-0.0100 (-0.0215 to -0.00765)"
    assert Estimate(0.01, -0.02, 0.03, "", 8, "made", 0.95).bounds == "-0.0200 to 0.0300"


TABLE = np.random.default_rng(5).lognormal(0, 0.3, (7, 3))


def test_the_interval_is_students() -> None:
    for found, column in zip(means(TABLE, "s"), TABLE.T, strict=True):
        expected = stats.t.interval(0.95, len(column) - 1, column.mean(), stats.sem(column))
        assert found.point == pytest.approx(column.mean())
        assert (found.low, found.high) == pytest.approx(expected)
        assert found.spread == pytest.approx(column.std(ddof=1))
        assert (found.n, found.coverage, found.unit) == (7, 0.95, "s")


def test_means_add_up_and_geometric_means_multiply() -> None:
    (whole,) = means(TABLE.sum(axis=1, keepdims=True), "s")
    assert sum(each.point for each in means(TABLE, "s")) == pytest.approx(whole.point)
    (product,) = geometric_means(np.log(TABLE).sum(axis=1, keepdims=True))
    factors = [each.point for each in geometric_means(np.log(TABLE))]
    assert np.prod(factors) == pytest.approx(product.point)
    assert product.low < product.point < product.high


@pytest.mark.parametrize("blocks", [2, 5, 6])
def test_below_six_blocks_there_is_a_range(blocks: int) -> None:
    """Student's interval of two values that differ by a third reaches from 0.09 to 7.5."""
    logarithms = np.log(np.geomspace(0.7, 1.0, blocks))[:, np.newaxis]
    (found,) = geometric_means(logarithms)
    assert (found.coverage is None) == (blocks < 6)
    assert ((found.low, found.high) == pytest.approx((0.7, 1.0))) == (blocks < 6)


def test_one_value_has_no_interval_and_equal_ones_none_to_show() -> None:
    (single,) = means(np.array([[3.0]]), "s")
    assert (single.point, single.bounds, single.coverage) == (3.0, "", None)
    (equal,) = means(np.full((5, 1), 0.1), "s")
    assert (equal.low, equal.high) == (equal.point, equal.point)


@pytest.mark.parametrize(("ours", "theirs"), [(6, 6), (8, 8), (8, 20), (20, 20)])
def test_ranks_are_those_of_the_rank_sum_test(ours: int, theirs: int) -> None:
    """Values exactly at the interval's edge are as unlikely as scipy says."""
    ways = estimate._rank_sums(ours, theirs)
    assert sum(ways) == math.comb(ours + theirs, ours)
    assert ways == ways[::-1]
    rank, coverage = estimate._rank(ours, theirs)
    assert coverage >= 0.95
    above_all, above_some = divmod(rank - 1, theirs)  # U counts which of ours are above theirs
    levels = [theirs] * above_all + [above_some] + [0] * (ours - above_all - 1)
    first = np.array(levels) - 0.5 + np.linspace(0, 1e-3, ours)
    found = mannwhitneyu(first, np.arange(theirs, dtype=float), method="exact")
    assert found.statistic == rank - 1
    assert 1 - coverage == pytest.approx(found.pvalue, abs=1e-12)


@pytest.mark.parametrize("blocks", [8, 20])
def test_intervals_hold_the_true_ratio_of_two_studies(blocks: int) -> None:
    rng = np.random.default_rng(1)
    trials, held = 600, 0
    for _ in range(trials):
        then, now = rng.lognormal(0, 0.1, blocks), 1.2 * rng.lognormal(0, 0.1, blocks)
        found = estimate.ratio(now, then)
        held += found.low <= 1.2 <= found.high
    assert held / trials >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / trials)


def test_few_runs_of_two_studies_give_a_range() -> None:
    found = estimate.ratio([2.0, 4.0], [1.0, 2.0, 4.0])
    assert (found.point, found.low, found.high, found.n) == (1.5, 0.5, 4.0, 2)
    assert found.coverage is None
    assert "unpaired" in found.method


def test_what_is_no_rate_is_left_out() -> None:
    assert estimate.ratio([math.nan, 0.0, 3.0], [1.0, math.inf]).point == 3.0
    nothing = estimate.ratio([], [1.0])
    assert nothing.n == 0
    assert math.isnan(nothing.point)
