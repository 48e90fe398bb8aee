"""A ratio of two studies covers at its rate, and gives the textbook's ranks."""

import math

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from scaling.analysis.statistics import estimate


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
def test_intervals_hold_the_true_ratio(blocks: int) -> None:
    rng = np.random.default_rng(1)
    trials, held = 600, 0
    for _ in range(trials):
        then, now = rng.lognormal(0, 0.1, blocks), 1.2 * rng.lognormal(0, 0.1, blocks)
        found = estimate.ratio(now, then)
        held += found.low <= 1.2 <= found.high
    assert held / trials >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / trials)


def test_few_runs_give_a_range() -> None:
    found = estimate.ratio([2.0, 4.0], [1.0, 2.0, 4.0])
    assert (found.point, found.low, found.high, found.n) == (1.5, 0.5, 4.0, 2)
    assert found.coverage is None
    assert "unpaired" in found.method


def test_what_is_no_rate_is_left_out() -> None:
    assert estimate.ratio([math.nan, 0.0, 3.0], [1.0, math.inf]).point == 3.0
    nothing = estimate.ratio([], [1.0])
    assert nothing.n == 0
    assert math.isnan(nothing.point)
