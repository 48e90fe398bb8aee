"""Fits recover parameters that data were made with, and their intervals hold them at their rate."""

import math

import numpy as np
import pytest
from scipy.optimize import least_squares

from scaling.analysis.arrays import Floats
from scaling.analysis.laws import choose, fit_amdahl, fit_linear, fit_usl, resample
from scaling.analysis.laws.solve import AMDAHL, LAWS, USL, Law, fit_many, fit_one, throughput
from tests.support.simulated_laws import CASES, SEED, errors, rates_held, usl

STUDIES = 40
LEAST = 0.95 - 3 * math.sqrt(0.95 * 0.05 / STUDIES)
"""Three standard errors below the rate that is claimed."""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resample, "RESAMPLES", 400)


@pytest.mark.parametrize("gamma", [1e-3, 40_000.0])
@pytest.mark.parametrize("alpha", [0.0, 1e-3, 0.1, 0.9])
@pytest.mark.parametrize("beta", [0.0, 1e-5, 1e-2])
def test_exact_data_give_exact_parameters(gamma: float, alpha: float, beta: float) -> None:
    ns = np.array([1.0, 2, 3, 4, 6, 8, 12, 16])
    fit = fit_usl(ns, usl(ns, alpha, beta, gamma))
    assert fit.gamma == pytest.approx(gamma, rel=1e-6)
    assert fit.alpha == pytest.approx(alpha, rel=1e-5, abs=1e-7)
    assert fit.beta == pytest.approx(beta, rel=1e-5, abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "noise", "blocks"), CASES)
def test_intervals_hold_the_truth(shape: str, noise: str, blocks: int) -> None:
    """The full table is a benchmark: `nox -s benchmarks -- laws`."""
    held = rates_held(shape, noise, blocks, STUDIES)
    assert min(held.values()) > LEAST, held


@pytest.mark.slow
def test_the_band_holds_the_curve() -> None:
    rng = np.random.default_rng(SEED)
    ns = np.arange(1.0, 9)
    true = usl(ns, 0.05, 0.002)
    held = np.zeros(len(ns))
    for _ in range(STUDIES):
        low, high = fit_usl(ns, true + errors("even", true, 1, rng)[0]).band(ns)
        held += (low <= true) & (true <= high)
    assert (held / STUDIES > LEAST).all()


@pytest.mark.slow
def test_the_choice_finds_the_law_and_seldom_more() -> None:
    rng = np.random.default_rng(SEED)
    ns = np.arange(1.0, 13)
    laws = {"linear": (0.0, 0.0), "Amdahl": (0.1, 0.0), "USL": (0.05, 0.01)}
    for name, (alpha, beta) in laws.items():
        true = usl(ns, alpha, beta)
        chosen = [
            choose(ns, true * (1 + 0.01 * rng.standard_normal(len(ns)))).fit.law.name
            for _ in range(40)
        ]
        assert chosen.count(name) >= 32
        if name != "USL":
            assert chosen.count("USL") <= 6


def test_of_laws_that_fit_alike_the_simplest_is_chosen() -> None:
    ns = np.arange(1.0, 9)
    assert choose(ns, 3 * ns).fit.law.name == "linear"
    assert choose(ns, usl(ns, 0.2, 0.0)).fit.law.name == "Amdahl"
    assert choose(ns, usl(ns, 0.2, 0.01)).fit.law.name == "USL"


def test_more_than_linear_ends_on_the_bound_and_says_so() -> None:
    ns = np.arange(1.0, 9)
    fit = fit_usl(ns, ns**1.1)
    assert (fit.alpha, fit.beta) == (0, 0)
    assert fit.at_bound == ("alpha", "beta")
    assert fit.peak == math.inf
    assert fit.gamma == pytest.approx(fit_linear(ns, ns**1.1).gamma, rel=1e-9)


def test_a_collapse_is_fitted_too() -> None:
    """What a lock, or the GIL with a poor allocator, does: two workers do a third of one."""
    ns = np.array([1.0, 2, 3, 4, 6, 8])
    fit = fit_usl(ns, [100.0, 33, 20, 14, 9, 7])
    assert fit.alpha == 1
    assert "alpha" in fit.at_bound
    assert fit.peak < 1
    assert (np.diff(fit.predict(ns)) < 0).all()


def test_one_seed_gives_one_interval() -> None:
    ns, runs = np.arange(1, 9), usl(np.arange(1.0, 9), 0.1, 0.01) + np.tile([0.01, -0.02], 4)
    assert fit_usl(ns, runs).intervals == fit_usl(ns, runs).intervals
    assert fit_usl(ns, runs, seed=2).intervals != fit_usl(ns, runs).intervals
    assert fit_amdahl(ns, runs).alpha == fit_amdahl(ns, runs, seed=2).alpha


@pytest.mark.parametrize("law", LAWS)
def test_many_fits_at_once_are_those_of_scipy(law: Law) -> None:
    """The refits behind an interval, against scipy's bounded least squares one by one."""
    rng = np.random.default_rng(SEED)
    ns = np.arange(1.0, 11)
    values = usl(ns, 0.1, 0.004) / 6 * (1 + 0.1 * rng.standard_normal((40, len(ns))))
    start = fit_one(law, ns, values.mean(axis=0))
    for row, found in zip(values, fit_many(law, ns, values, start), strict=True):
        alone = least_squares(
            _residuals,
            np.array([0.3, 0.05, 0.001][: law.count]),
            bounds=([0.0] * law.count, [np.inf, 1.0, 1.0][: law.count]),
            x_scale=[1.0, 0.1, 0.01][: law.count],
            ftol=1e-14,
            xtol=1e-14,
            gtol=1e-14,
            args=(ns, row),
        )
        ours = float(np.sum((throughput(ns, found) - row) ** 2))
        assert ours <= 2 * alone.cost * (1 + 1e-6)


def _residuals(parameters: Floats, ns: Floats, values: Floats) -> Floats:
    return throughput(ns, parameters) - values


def test_values_that_are_missing_count_for_nothing() -> None:
    ns = np.arange(1.0, 9)
    values = usl(ns, 0.1, 0.004)[None, :] / 5
    start = fit_one(USL, ns, values[0])
    torn = values.copy()
    torn[0, 3] = np.nan
    assert fit_many(USL, ns, torn, start)[0] == pytest.approx(start, rel=1e-6)
    held = fit_many(USL, ns, values, start, absent=("beta",))[0]
    assert held[2] == 0
    assert held[:2] == pytest.approx(fit_one(AMDAHL, ns, values[0]), rel=1e-6)
