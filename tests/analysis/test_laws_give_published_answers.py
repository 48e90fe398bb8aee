"""Data sets that were published with their coefficients give these coefficients.

Sources: R package usl 3.0 (S. Möding, N. J. Gunther; CRAN): `raytracer` and `specsdm91`, both from
N. J. Gunther, Guerrilla Capacity Planning (2007), and the data of its own tests. B. Schwartz,
Practical Scalability Analysis with the Universal Scalability Law (2015): the Cisco benchmark, as in
the tests of codahale/usl4j.
"""

from dataclasses import dataclass

import numpy as np
import pytest

from scaling.analysis.laws import choose, fit_amdahl, fit_usl, karp_flatt


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
    fit = fit_usl(data.workers, data.throughput)
    for parameter in ("gamma", "alpha", "beta", "peak"):
        published = getattr(data, parameter)
        assert getattr(fit, parameter) == pytest.approx(published, rel=data.digits, abs=1e-12)
        low, high = fit.intervals[parameter]
        assert low <= getattr(fit, parameter) <= high


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1e9])
@pytest.mark.parametrize("name", ALL)
def test_a_fit_does_not_depend_on_the_unit(name: str, scale: float) -> None:
    data = ALL[name]
    here = fit_usl(data.workers, data.throughput)
    there = fit_usl(data.workers, np.array(data.throughput) * scale)
    assert there.alpha == pytest.approx(here.alpha, rel=1e-6)
    assert there.beta == pytest.approx(here.beta, rel=1e-6)
    assert there.gamma / scale == pytest.approx(here.gamma, rel=1e-6)
    assert there.intervals["beta"] == pytest.approx(here.intervals["beta"], rel=1e-4)


def test_fitted_values_are_those_published() -> None:
    """R's `fitted(usl(throughput ~ load, specsdm91))`, and the peak of its summary."""
    fit = fit_usl(SPECSDM91.workers, SPECSDM91.throughput)
    assert fit.predict(SPECSDM91.workers).round().tolist() == [
        90, 1078, 1541, 1850, 1879, 1822, 1646,
    ]  # fmt: skip
    assert float(fit.predict(fit.peak)) == pytest.approx(1884, abs=0.5)
    assert fit.residual_per_s == pytest.approx(82.8, abs=0.05)  # on 4 degrees of freedom
    assert fit.r_squared == pytest.approx(0.99, abs=0.005)


def test_what_the_data_push_out_of_bounds_is_labelled() -> None:
    assert fit_usl(RAYTRACER.workers, RAYTRACER.throughput).at_bound == ("beta",)
    assert fit_usl(CISCO.workers, CISCO.throughput).at_bound == ()
    amdahl = fit_amdahl(RAYTRACER.workers, RAYTRACER.throughput)
    assert amdahl.alpha == pytest.approx(0.057771, rel=1e-5)
    assert amdahl.at_bound == ()


def test_the_choice_is_no_more_than_the_points_bear_out() -> None:
    assert choose(CISCO.workers, CISCO.throughput).fit.law.name == "USL"
    assert choose(PACKAGE_TEST.workers, PACKAGE_TEST.throughput).fit.law.name == "USL"
    assert choose(RAYTRACER.workers, RAYTRACER.throughput).fit.law.name == "Amdahl"
    few = choose(SPECSDM91.workers, SPECSDM91.throughput)  # seven points
    assert few.fit.law.name == "Amdahl"
    assert 0.1 < few.weights["USL"] < 0.5


def test_the_serial_fraction_is_amdahls_where_his_law_holds() -> None:
    """What Karp and Flatt define it by: for speed-ups with a serial part f it is f at every N."""
    ns = np.array([2, 4, 8, 64])
    for serial in (0.0, 0.05, 0.5, 1.0):
        assert karp_flatt(ns, ns / (1 + serial * (ns - 1))) == pytest.approx([serial] * 4)
    assert karp_flatt([2, 4], [1.95, 3.5]) == pytest.approx([0.02564, 0.04762], abs=1e-5)
    assert karp_flatt([2], [2.1])[0] < 0
    assert np.isnan(karp_flatt([1], [1.0])).all()
