"""Fits give published coefficients and the parameters that data were made with.

Intervals hold the parameters at their rate.

Sources of the published data: R package usl 3.0 (S. Möding, N. J. Gunther; CRAN): `raytracer` and
`specsdm91`, both from N. J. Gunther, Guerrilla Capacity Planning (2007), and the data of its own
tests. B. Schwartz, Practical Scalability Analysis with the Universal Scalability Law (2015): the
Cisco benchmark, as in the tests of codahale/usl4j.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaling.analysis.arrays import Flags, Floats
from scaling.analysis.laws import AMDAHL, USL, fit, throughput
from scaling.analysis.statistics.intervals import Estimates, medians
from tests.support.simulated_laws import NOISES, SEED, errors, usl

STUDIES = 40
SHAPES = {"both": (0.05, 0.002), "steep": (0.3, 0.01), "no coherency": (0.02, 0.0)}
"""Contention and coherency."""
SIX, SEVEN = (1, 2, 3, 4, 6, 8), (1, 2, 4, 8, 16, 32, 64)


def fitted(ns: Sequence[float], values: Sequence[float] | Floats, count: int = USL) -> Floats:
    return fit(np.array(ns, float), np.asarray(values, float), count)


def holds(found: Estimates, true: Floats) -> Flags:
    return np.asarray((found.low <= true) & (true <= found.high))


@pytest.mark.parametrize("alpha", [0.0, 1e-3, 0.9])
@pytest.mark.parametrize("beta", [0.0, 1e-5, 1e-2])
@pytest.mark.parametrize("gamma", [4e-5, 4e4])
def test_exact_data_give_exact_parameters(alpha: float, beta: float, gamma: float) -> None:
    ns = np.array([1.0, 2, 3, 4, 6, 8, 12, 16])
    found = fit(ns, usl(ns, alpha, beta, gamma), USL)
    assert found[0] == pytest.approx(gamma, rel=1e-6)
    assert found[1:] == pytest.approx([alpha, beta], rel=1e-5, abs=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("ns", [SIX, SEVEN], ids=["to 8", "to 64"])
def test_intervals_and_band_hold_the_truth(ns: tuple[int, ...], shape: str) -> None:
    """At least 88 %, in 160 studies: three standard errors below 94 %."""
    alpha, beta = SHAPES[shape]
    rng, at = np.random.default_rng(SEED), np.array(ns, float)
    true = usl(at, alpha, beta)
    held, inside = np.zeros(3), np.zeros(len(ns))
    for noise in NOISES * STUDIES:
        runs = true + errors(noise, true, 8, rng)
        fits = [fit(at, block, USL, block) for block in runs]
        held += holds(medians(np.array(fits)), np.array([1, alpha, beta]))
        inside += holds(medians(np.array([throughput(at, *each) for each in fits])), true)
    assert (held / STUDIES / len(NOISES) >= 0.88).all(), held
    assert (inside / STUDIES / len(NOISES) >= 0.88).all(), inside


@given(
    st.lists(st.integers(1, 512), min_size=6, max_size=10, unique=True).map(sorted),
    st.data(),
)
def test_any_throughputs_have_finite_parameters_or_none(ns: list[int], data: st.DataObject) -> None:
    some = st.floats(1e-3, 1e3)
    values = np.array(data.draw(st.lists(some, min_size=len(ns), max_size=len(ns))))
    for count in (AMDAHL, USL):
        found = fit(np.array(ns, float), values, count, values)
        assert found.shape == (count,)
        assert np.isfinite(found).all() or np.isnan(found).all()


@dataclass(frozen=True)
class Published:
    workers: list[float]
    throughput: list[float]
    parameters: list[float]
    digits: float  # relative: as many as were published


RAYTRACER = Published(
    [1, 4, 8, 12, 16, 20, 24, 28, 32, 48, 64],
    [20, 78, 130, 170, 190, 200, 210, 230, 260, 280, 310],
    [21.848843, 0.057771, 0.0],
    1e-5,
)
SPECSDM91 = Published(
    [1, 18, 36, 72, 108, 144, 216],
    [64.9, 995.9, 1652.4, 1853.2, 1828.9, 1775.0, 1702.2],
    [89.9952330, 0.0277285, 0.0001044],
    4e-4,
)
PACKAGE_TEST = Published(
    [1, 2, 4, 6, 8, 10],
    [1, 1.8868, 3.0769, 3.5294, 3.5398, 3.3557],
    [1.0, 0.02, 0.02],
    5e-4,
)
CISCO_PER_S = [
    955.16, 1878.91, 2688.01, 3548.68, 4315.54, 5130.43, 5931.37, 6531.08,
    7219.8, 7867.61, 8278.71, 8646.7, 9047.84, 9426.55, 9645.37, 9897.24,
    10097.6, 10240.5, 10532.39, 10798.52, 11151.43, 11518.63, 11806, 12089.37,
    12075.41, 12177.29, 12211.41, 12158.93, 12155.27, 12118.04, 12140.4, 12074.39,
]  # fmt: skip
CISCO = Published(
    [*map(float, range(1, 33))], CISCO_PER_S, [995.6486, 0.02671591, 7.690945e-4], 2e-4
)


@pytest.mark.parametrize(
    ("data", "count"), [(RAYTRACER, AMDAHL), (SPECSDM91, USL), (PACKAGE_TEST, USL), (CISCO, USL)]
)
def test_coefficients_are_those_published(data: Published, count: int) -> None:
    found = fitted(data.workers, data.throughput, count)
    assert found == pytest.approx(data.parameters[:count], rel=data.digits)


def test_fitted_values_are_those_published() -> None:
    """R's `fitted(usl(throughput ~ load, specsdm91))`."""
    gamma, alpha, beta = fitted(SPECSDM91.workers, SPECSDM91.throughput)
    predicted = throughput(np.array(SPECSDM91.workers, float), gamma, alpha, beta)
    assert predicted.round().tolist() == [90, 1078, 1541, 1850, 1879, 1822, 1646]


def test_more_than_linear_has_no_contention() -> None:
    """Below 0, before the interval is cut there."""
    ns = np.arange(1.0, 9)
    _, alpha, _ = fit(ns, ns**1.1, USL)
    assert alpha < 0


def test_a_collapse_is_fitted_too() -> None:
    """What a lock, or the GIL with a poor allocator, does: two workers do a third of one."""
    ns = np.array([1.0, 2, 3, 4, 6, 8])
    gamma, alpha, beta = fitted([*ns], [100.0, 33, 20, 14, 9, 7])
    assert alpha > 0.9
    assert (np.diff(throughput(ns, gamma, alpha, beta)) < 0).all()
