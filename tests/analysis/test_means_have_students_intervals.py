"""Means of terms add up, geometric means of factors multiply; both have Student's interval."""

import numpy as np
import pytest
from scipy import stats

from scaling.analysis.statistics.estimate import geometric_means, means

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
