"""An interval covers the true median at its rate; too few values are called a range."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaling import wording
from scaling.analysis.estimate import Estimate, median

SEED = 20261120
STUDIES = 4000


@pytest.mark.parametrize("n", [6, 8, 20])
@pytest.mark.parametrize("shape", ["normal", "skewed", "heavy-tailed"])
def test_intervals_cover_at_their_rate(n: int, shape: str) -> None:
    rng = np.random.default_rng(SEED)
    drawn = {
        "normal": rng.normal(10, 1, (STUDIES, n)),
        "skewed": rng.exponential(1, (STUDIES, n)),
        "heavy-tailed": rng.standard_cauchy((STUDIES, n)),
    }[shape]
    true = {"normal": 10.0, "skewed": math.log(2), "heavy-tailed": 0.0}[shape]
    estimates = [median(values, "x") for values in drawn]
    covered = np.mean([e.low <= true <= e.high for e in estimates])
    stated = estimates[0].coverage
    assert stated is not None
    assert stated >= 0.95
    error = math.sqrt(stated * (1 - stated) / STUDIES)
    assert abs(covered - stated) < 4 * error


def test_ranks_are_those_of_the_tables() -> None:
    # Conover, Practical Nonparametric Statistics, and any table of the sign test
    for n, ranks in ((6, (1, 6)), (8, (1, 8)), (9, (2, 8)), (20, (6, 15))):
        found = median(range(1, n + 1), "x")
        assert (found.low, found.high) == ranks


@pytest.mark.parametrize("n", [1, 2, 5])
def test_below_six_it_is_a_range(n: int) -> None:
    found = median([float(k * k) for k in range(n)], "ops/s")
    assert (found.low, found.high) == (0, (n - 1) ** 2)
    assert found.coverage is None
    assert found.method == "median and range"
    assert found.unit == "ops/s"


def test_nothing_is_nothing() -> None:
    found = median([math.nan, math.inf], "x")
    assert found.n == 0
    assert math.isnan(found.point)
    assert wording.estimate(found) == "–"


ANY_FIGURE = st.floats(-1e200, 1e200) | st.sampled_from([math.nan, math.inf, -math.inf])


@given(st.lists(ANY_FIGURE, max_size=40))
def test_a_median_lies_inside_its_bounds(values: list[float]) -> None:
    found = median(values, "x")
    assert found.n == sum(map(math.isfinite, values))
    assert found.n == 0 or found.low <= found.point <= found.high


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
    assert wording.number(value) == text


def test_an_estimate_is_told_with_its_bounds() -> None:
    three = Estimate(65_312.0, 64_100.0, 66_020.0, "ops/s", 3, "median and range")
    assert wording.estimate(three) == "65,300 (64,100–66,000)"
    assert wording.spread([three]) == "range of 3 runs"
    eight = median(range(8), "x")
    assert wording.spread([eight, three]) == "95 % interval over 8 blocks or range of 3 runs"
