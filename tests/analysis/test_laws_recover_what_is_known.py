"""Fits give published coefficients and the parameters that data were made with.

Intervals hold the parameters at their rate.

Sources of the published data: R package usl 3.0 (S. Möding, N. J. Gunther; CRAN): `raytracer` and
`specsdm91`, both from N. J. Gunther, Guerrilla Capacity Planning (2007), and the data of its own
tests. B. Schwartz, Practical Scalability Analysis with the Universal Scalability Law (2015): the
Cisco benchmark, as in the tests of codahale/usl4j."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import least_squares

from scaling.analysis.arrays import Floats
from scaling.analysis.laws import (
    AMDAHL,
    LAWS,
    LINEAR,
    USL,
    Fit,
    Law,
    choose,
    fit_many,
    fit_one,
    karp_flatt,
    throughput,
)
from tests.support.simulated_laws import CASES, SEED, errors, rates_held, usl

STUDIES = 30
LEAST = 0.95 - 3 * math.sqrt(0.95 * 0.05 / STUDIES)
"""Three standard errors below the rate that is claimed."""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scaling.analysis.laws.RESAMPLES", 400)


def fitted(ns: npt.ArrayLike, runs: npt.ArrayLike, law: Law = USL) -> Fit:
    """A law fitted to one block, or to runs (blocks, N)."""
    return Fit(law, np.asarray(ns, float), np.atleast_2d(np.asarray(runs, float)))


def name_chosen(ns: npt.ArrayLike, values: npt.ArrayLike) -> str:
    fit, _ = choose(np.asarray(ns, float), np.atleast_2d(values))
    return fit.law.name


@pytest.mark.parametrize("alpha", [0.0, 1e-3, 0.9])
@pytest.mark.parametrize("beta", [0.0, 1e-5, 1e-2])
def test_exact_data_give_exact_parameters(alpha: float, beta: float) -> None:
    ns, gamma = np.array([1.0, 2, 3, 4, 6, 8, 12, 16]), 40_000.0
    fit = fitted(ns, usl(ns, alpha, beta, gamma))
    assert fit.gamma == pytest.approx(gamma, rel=1e-6)
    assert fit.alpha == pytest.approx(alpha, rel=1e-5, abs=1e-7)
    assert fit.beta == pytest.approx(beta, rel=1e-5, abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "noise", "blocks"), [CASES[1], CASES[3], CASES[5]])
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
        low, high = fitted(ns, true + errors("even", true, 1, rng)).band(ns)
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
            name_chosen(ns, true * (1 + 0.01 * rng.standard_normal(len(ns)))) for _ in range(40)
        ]
        assert chosen.count(name) >= 32
        if name != "USL":
            assert chosen.count("USL") <= 6


def test_of_laws_that_fit_alike_the_simplest_is_chosen() -> None:
    ns = np.arange(1.0, 9)
    assert name_chosen(ns, 3 * ns) == "linear"
    assert name_chosen(ns, usl(ns, 0.2, 0.0)) == "Amdahl"
    assert name_chosen(ns, usl(ns, 0.2, 0.01)) == "USL"


def test_more_than_linear_ends_on_the_bound_and_says_so() -> None:
    ns = np.arange(1.0, 9)
    fit = fitted(ns, ns**1.1)
    assert (fit.alpha, fit.beta) == (0, 0)
    assert fit.at_bound == ("alpha", "beta")
    assert fit.peak == math.inf
    assert fit.gamma == pytest.approx(fitted(ns, ns**1.1, LINEAR).gamma, rel=1e-9)


def test_a_collapse_is_fitted_too() -> None:
    """What a lock, or the GIL with a poor allocator, does: two workers do a third of one."""
    ns = np.array([1.0, 2, 3, 4, 6, 8])
    fit = fitted(ns, [100.0, 33, 20, 14, 9, 7])
    assert fit.alpha == 1
    assert "alpha" in fit.at_bound
    assert fit.peak < 1
    assert (np.diff(fit.predict(ns)) < 0).all()


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


@dataclass(frozen=True)
class Published:
    workers: list[int]
    throughput: list[float]
    gamma: float
    alpha: float
    beta: float
    peak: float
    digits: float  # relative: as many as were published


RAYTRACER = Published(
    [1, 4, 8, 12, 16, 20, 24, 28, 32, 48, 64],
    [20, 78, 130, 170, 190, 200, 210, 230, 260, 280, 310],
    gamma=21.848843,
    alpha=0.057771,
    beta=0.0,
    peak=np.inf,
    digits=1e-5,
)
SPECSDM91 = Published(
    [1, 18, 36, 72, 108, 144, 216],
    [64.9, 995.9, 1652.4, 1853.2, 1828.9, 1775.0, 1702.2],
    gamma=89.9952330,
    alpha=0.0277285,
    beta=0.0001044,
    peak=96.52,
    digits=4e-4,
)
PACKAGE_TEST = Published(
    [1, 2, 4, 6, 8, 10],
    [1, 1.8868, 3.0769, 3.5294, 3.5398, 3.3557],
    gamma=1.0,
    alpha=0.02,
    beta=0.02,
    peak=7.0,
    digits=5e-4,
)
CISCO_PER_S = [
    955.16, 1878.91, 2688.01, 3548.68, 4315.54, 5130.43, 5931.37, 6531.08,
    7219.8, 7867.61, 8278.71, 8646.7, 9047.84, 9426.55, 9645.37, 9897.24,
    10097.6, 10240.5, 10532.39, 10798.52, 11151.43, 11518.63, 11806, 12089.37,
    12075.41, 12177.29, 12211.41, 12158.93, 12155.27, 12118.04, 12140.4, 12074.39,
]  # fmt: skip
CISCO = Published(
    list(range(1, 33)),
    CISCO_PER_S,
    gamma=995.6486,
    alpha=0.02671591,
    beta=7.690945e-4,
    peak=35.57,
    digits=2e-4,
)
ALL = {"raytracer": RAYTRACER, "specsdm91": SPECSDM91, "package": PACKAGE_TEST, "cisco": CISCO}


@pytest.mark.parametrize("name", ALL)
def test_coefficients_are_those_published(name: str) -> None:
    data = ALL[name]
    fit = fitted(data.workers, data.throughput)
    for parameter in ("gamma", "alpha", "beta", "peak"):
        published = getattr(data, parameter)
        assert getattr(fit, parameter) == pytest.approx(published, rel=data.digits, abs=1e-12)
        low, high = fit.intervals[parameter]
        assert low <= getattr(fit, parameter) <= high


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_a_fit_does_not_depend_on_the_unit(scale: float) -> None:
    data = SPECSDM91
    here = fitted(data.workers, data.throughput)
    there = fitted(data.workers, np.array(data.throughput) * scale)
    assert there.alpha == pytest.approx(here.alpha, rel=1e-6)
    assert there.beta == pytest.approx(here.beta, rel=1e-6)
    assert there.gamma / scale == pytest.approx(here.gamma, rel=1e-6)
    assert there.intervals["beta"] == pytest.approx(here.intervals["beta"], rel=1e-4)


def test_fitted_values_are_those_published() -> None:
    """R's `fitted(usl(throughput ~ load, specsdm91))`, and the peak of its summary."""
    fit = fitted(SPECSDM91.workers, SPECSDM91.throughput)
    assert fit.predict(SPECSDM91.workers).round().tolist() == [
        90, 1078, 1541, 1850, 1879, 1822, 1646,
    ]  # fmt: skip
    assert float(fit.predict(fit.peak)) == pytest.approx(1884, abs=0.5)


def test_what_the_data_push_out_of_bounds_is_labelled() -> None:
    assert fitted(RAYTRACER.workers, RAYTRACER.throughput).at_bound == ("beta",)
    assert fitted(CISCO.workers, CISCO.throughput).at_bound == ()
    amdahl = fitted(RAYTRACER.workers, RAYTRACER.throughput, AMDAHL)
    assert amdahl.alpha == pytest.approx(0.057771, rel=1e-5)
    assert amdahl.at_bound == ()


def test_the_choice_is_no_more_than_the_points_bear_out() -> None:
    assert name_chosen(CISCO.workers, CISCO.throughput) == "USL"
    assert name_chosen(PACKAGE_TEST.workers, PACKAGE_TEST.throughput) == "USL"
    assert name_chosen(RAYTRACER.workers, RAYTRACER.throughput) == "Amdahl"
    seven = np.array(SPECSDM91.workers, float), np.array([SPECSDM91.throughput])
    few, weights = choose(*seven)
    assert few.law.name == "Amdahl"
    assert 0.1 < weights["USL"] < 0.5


def test_the_serial_fraction_is_amdahls_where_his_law_holds() -> None:
    """What Karp and Flatt define it by: for speed-ups with a serial part f it is f at every N."""
    ns = np.array([2.0, 4, 8, 64])
    for serial in (0.0, 0.05, 0.5, 1.0):
        assert karp_flatt(ns, ns / (1 + serial * (ns - 1))) == pytest.approx([serial] * 4)
    published = karp_flatt(np.array([2.0, 4]), np.array([1.95, 3.5]))
    assert published == pytest.approx([0.02564, 0.04762], abs=1e-5)
    assert karp_flatt(2, np.array([2.1]))[0] < 0


NS = [1, 2, 3, 4, 6, 8]
RUNS = [10.0, 19.0, 27.0, 34.0, 45.0, 53.0]

type Arrays = tuple[list[float], list[float]]


@st.composite
def sensible(draw: st.DrawFn) -> Arrays:
    """Six distinct Ns or more, with any positive throughput."""
    ns = sorted(draw(st.lists(st.integers(1, 512), min_size=6, max_size=10, unique=True)))
    unit = 10.0 ** draw(st.integers(-9, 12))
    return [float(n) for n in ns], [unit * draw(st.floats(1e-3, 1e3)) for _ in ns]


@pytest.mark.slow
@settings(max_examples=8)
@given(sensible())
def test_sensible_arrays_are_fitted_inside_the_bounds(arrays: Arrays) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scaling.analysis.laws.RESAMPLES", 100)
        fit = fitted(*arrays)
    assert fit.gamma > 0
    assert 0 <= fit.alpha <= 1
    assert 0 <= fit.beta <= 1
    assert fit.peak >= 0
    for low, high in fit.intervals.values():
        assert low <= high
    low_band, high_band = fit.band(arrays[0])
    assert np.isfinite(fit.predict(arrays[0])).all()
    assert (low_band <= high_band).all()
    assert math.isfinite(fit.aicc)


@pytest.mark.slow
@settings(max_examples=8)
@given(sensible())
def test_a_law_with_more_parameters_leaves_no_more_squares(arrays: Arrays) -> None:
    ns, runs = map(np.array, arrays)
    left = [np.sum((fitted(ns, runs, law).predict(ns) - runs) ** 2) for law in LAWS]
    assert left[1] <= left[0] * (1 + 1e-9)
    assert left[2] <= left[1] * (1 + 1e-6) + 1e-24 * np.sum(runs**2)


def test_a_block_may_lack_a_run() -> None:
    runs = np.multiply.outer([1.0, 1.01, 0.99, 1.02, 0.98, 1.0, 1.03], RUNS)
    whole = fitted(NS, runs)
    runs[0, 0] = np.nan
    assert fitted(NS, runs).alpha == pytest.approx(whole.alpha, abs=0.02)
    assert "7 blocks" in whole.method


def test_few_blocks_have_intervals_of_residuals() -> None:
    assert fitted(NS, [RUNS] * 3).method == "bootstrap of residuals"


def test_a_band_has_the_shape_that_was_asked_for_and_equal_runs_one_interval() -> None:
    fit = fitted(NS, RUNS)
    assert fit.predict([[1, 2, 3], [4, 5, 6]]).shape == (2, 3)
    low, high = fit.band([1.0, 2.5])
    assert low.shape == high.shape == (2,)
    for wrong in (0, [1, math.nan], math.inf):
        with pytest.raises(ValueError, match=r"NaN|1 or more"):
            fit.predict(wrong)
    assert fit.intervals == fitted(NS, RUNS).intervals
