"""A window is level, warming, slowing or unsteady by a rule that seldom alarms and finds 10 %."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from scaling.analysis.arrays import Floats
from scaling.analysis.table.steadiness import LEAST_CHANGE, late_rise, rise_and_fall, steadiness

RUNS, COUNT = 2_000, 20
PLACE = (np.arange(COUNT) + 0.5) / COUNT  # of a sub-window in its window


def shares(rates: Floats) -> dict[str | None, float]:
    """How large a share of simulated runs is of each class."""
    classes = list(map(steadiness, *(each.tolist() for each in rise_and_fall(rates))))
    return {name: classes.count(name) / len(classes) for name in set(classes)}


def noisy(shape: Floats, noise: float, seed: int = 1) -> Floats:
    """Runs whose rates have that shape and normal noise on it."""
    return shape * (1 + noise * np.random.default_rng(seed).standard_normal((RUNS, COUNT)))


LEVEL = {
    "normal, 1 %": lambda rng: 1 + 0.01 * rng.standard_normal((RUNS, COUNT)),
    "normal, 20 %": lambda rng: 1 + 0.2 * rng.standard_normal((RUNS, COUNT)),
    "few operations": lambda rng: rng.poisson(5, (RUNS, COUNT)).astype(np.float64),
    "skewed": lambda rng: np.exp(0.3 * rng.standard_normal((RUNS, COUNT))),
    "heavy-tailed": lambda rng: 1 + 0.03 * rng.standard_t(3, (RUNS, COUNT)),
    "of 8 sub-windows": lambda rng: 1 + 0.05 * rng.standard_normal((RUNS, 8)),
}


@pytest.mark.parametrize("noise", LEVEL)
def test_level_runs_are_called_level(noise: str) -> None:
    rates = LEVEL[noise](np.random.default_rng(1))
    assert shares(rates)["level"] >= 0.985


RISES = {
    "all the window long": 0.9 + 0.1 * PLACE,
    "in the first half": np.minimum(1, 0.9 + 0.2 * PLACE),
    "at once after a quarter": np.where(PLACE < 0.25, 0.9, 1.0),
    "at once after a half": np.where(PLACE < 0.5, 0.9, 1.0),
}


@pytest.mark.parametrize("rise", RISES)
def test_a_warm_up_of_ten_per_cent_is_found_and_the_same_backwards_is_slowing(rise: str) -> None:
    assert shares(noisy(RISES[rise], 0.01))["warming"] >= 0.99
    assert shares(noisy(RISES[rise], 0.02))["warming"] >= 0.90
    assert shares(noisy(RISES[rise][::-1], 0.01))["slowing"] >= 0.99


def test_there_and_back_is_unsteady_and_what_is_too_small_or_short_is_not() -> None:
    dip = np.where((PLACE > 0.25) & (PLACE < 0.5), 0.85, 1.0)
    assert shares(noisy(dip, 0.01))["unsteady"] >= 0.99
    slight = np.linspace(1 - LEAST_CHANGE / 2, 1, COUNT)
    assert shares(noisy(slight, 1e-6)) == {"level": 1.0}  # however sure
    assert shares(np.ones((3, 7))) == {None: 1.0}
    assert np.isnan(late_rise(np.ones((3, 7)))).all()


@given(
    arrays.arrays(
        np.float64,
        st.tuples(st.integers(0, 4), st.integers(1, 24)),
        elements=st.floats(0, 1e12) | st.just(np.nan),
    )
)
def test_any_rates_are_classed_or_left_out(rates: Floats) -> None:
    rise, fall = rise_and_fall(rates)
    assert rise.shape == fall.shape == (len(rates),)
    assert not (rise < 0).any()
    assert not (fall > 0).any()
    blank = ~np.isfinite(rates).all(axis=1) | (rates.sum(axis=1) == 0) | (rates.shape[1] < 8)
    np.testing.assert_array_equal(np.isnan(rise), blank)
