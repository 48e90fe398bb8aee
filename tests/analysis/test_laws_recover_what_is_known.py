"""Fits give published coefficients and the parameters that data were made with.

Intervals hold the parameters at their rate.

Sources of the published data: R package usl 3.0 (S. Möding, N. J. Gunther; CRAN): `raytracer` and
`specsdm91`, both from N. J. Gunther, Guerrilla Capacity Planning (2007).
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
"""Contention and coherency."""


def fitted(ns: Sequence[float], values: Sequence[float] | Floats, count: int = USL) -> Floats:
    return fit(np.array(ns, float), np.asarray(values, float), count)


def holds(found: Estimates, true: Floats) -> Flags:
    return np.asarray((found.low <= true) & (true <= found.high))


@pytest.mark.parametrize("alpha", [0.0, 0.9])
@pytest.mark.parametrize("beta", [0.0, 1e-2])
@pytest.mark.parametrize("gamma", [4e-5, 4e4])
def test_exact_data_give_exact_parameters(alpha: float, beta: float, gamma: float) -> None:
    ns = np.array([1.0, 2, 3, 4, 6, 8, 12, 16])
    found = fit(ns, usl(ns, alpha, beta, gamma), USL)
    assert found[0] == pytest.approx(gamma, rel=1e-6)
    assert found[1:] == pytest.approx([alpha, beta], rel=1e-5, abs=1e-7)


@pytest.mark.slow
def test_intervals_and_band_hold_the_truth() -> None:
    """At least 88 %, in 160 studies: three standard errors below 94 %."""
    ns, alpha, beta = (1, 2, 4, 8, 16, 32, 64), 0.05, 0.002
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


@pytest.mark.parametrize(("data", "count"), [(RAYTRACER, AMDAHL), (SPECSDM91, USL)])
def test_coefficients_are_those_published(data: Published, count: int) -> None:
    found = fitted(data.workers, data.throughput, count)
    assert found == pytest.approx(data.parameters[:count], rel=data.digits)


def test_a_collapse_is_fitted_too() -> None:
    """What a lock, or the GIL with a poor allocator, does: two workers do a third of one."""
    ns = np.array([1.0, 2, 3, 4, 6, 8])
    gamma, alpha, beta = fitted([*ns], [100.0, 33, 20, 14, 9, 7])
    assert alpha > 0.9
    assert (np.diff(throughput(ns, gamma, alpha, beta)) < 0).all()
