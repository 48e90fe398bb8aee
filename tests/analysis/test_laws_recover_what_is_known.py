"""Fits give published coefficients and the parameters that data were made with.

Intervals hold the parameters at their rate.

A law is shown inside one topology region, where it has enough points.

Sources of the published data: R package usl 3.0 (S. Möding, N. J. Gunther; CRAN): `raytracer` and
`specsdm91`, both from N. J. Gunther, Guerrilla Capacity Planning (2007).
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaling.analysis.arrays import Flags, Floats
from scaling.analysis.laws import AMDAHL, USL, fit, laws, throughput
from scaling.analysis.statistics.intervals import Estimates, medians
from scaling.report.view.tables import LAWS
from tests.support.runs import changing
from tests.support.simulated_laws import NOISES, SEED, errors, usl
from tests.support.studies import FakeStudy

STUDIES = 15  # of each kind of noise


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
    """At least 85 %, in 60 studies: three standard errors below 94 %."""
    ns, alpha, beta = (1, 2, 4, 8, 16, 32, 64), 0.05, 0.002
    rng, at = np.random.default_rng(SEED), np.array(ns, float)
    true = usl(at, alpha, beta)
    held, inside = np.zeros(3), np.zeros(len(ns))
    for noise in NOISES * STUDIES:
        runs = true + errors(noise, true, 8, rng)
        fits = [fit(at, block, USL, block) for block in runs]
        held += holds(medians(np.array(fits)), np.array([1, alpha, beta]))
        inside += holds(medians(np.array([throughput(at, *each) for each in fits])), true)
    assert (held / STUDIES / len(NOISES) >= 0.85).all(), held
    assert (inside / STUDIES / len(NOISES) >= 0.85).all(), inside


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


# Workers, throughputs, parameters, and the relative error of as many digits as were published.
RAYTRACER = (
    [1, 4, 8, 12, 16, 20, 24, 28, 32, 48, 64],
    [20, 78, 130, 170, 190, 200, 210, 230, 260, 280, 310],
    *([21.848843, 0.057771], 1e-5),
)
SPECSDM91 = (
    [1, 18, 36, 72, 108, 144, 216],
    [64.9, 995.9, 1652.4, 1853.2, 1828.9, 1775.0, 1702.2],
    *([89.9952330, 0.0277285, 0.0001044], 4e-4),
)


@pytest.mark.parametrize(("workers", "values", "parameters", "digits"), [RAYTRACER, SPECSDM91])
def test_coefficients_are_those_published(
    workers: list[float], values: list[float], parameters: list[float], digits: float
) -> None:
    assert fitted(workers, values, len(parameters)) == pytest.approx(parameters, rel=digits)


WIDE = (1, 2, 3, 4, 6, 8, 12)
SERIAL = 0.05


def obeying(workers: tuple[int, ...] = WIDE) -> FakeStudy:
    """Amdahl's law with a serial part of 5 % on eight cores, and no more beyond them."""
    speeds = {("3.14t", "threads", n): min(n, 8) / (1 + SERIAL * (min(n, 8) - 1)) for n in workers}
    return FakeStudy(workers=workers, blocks=8, cores=8, logical=8, speeds=speeds, noise=0.01)


STUDY, FEW = obeying(), obeying((1, 2, 4))


def parameters_of(found: FakeStudy) -> dict[str, dict[Any, Any]]:
    rows = laws(found.study).to_dict("records")
    return {str(row["measure"]): row for row in rows}


def test_each_region_with_enough_points_has_its_own() -> None:
    found = parameters_of(STUDY)  # 12 workers are beyond the cores
    assert found.keys() == {"gamma", "alpha"}
    alpha = found["alpha"]
    assert (alpha["region"], alpha["workers"], alpha["law"]) == ("cores", "1–8", "Amdahl")
    assert alpha["low"] < SERIAL < alpha["high"]
    assert alpha["n"] == 8


def test_coherency_that_is_proven_has_a_peak() -> None:
    wide = (1, 2, 4, 6, 8, 12, 16)
    speeds = {("3.14t", "threads", n): n / (1 + 0.05 * (n - 1) + 0.01 * n * (n - 1)) for n in wide}
    found = parameters_of(
        FakeStudy(workers=wide, blocks=8, cores=16, logical=16, speeds=speeds, noise=0.01)
    )
    assert {row["law"] for row in found.values()} == {"USL"}
    for name, true in (("beta", 0.01), ("peak", math.sqrt(0.95 / 0.01))):
        assert found[name]["low"] < true < found[name]["high"]


def test_few_points_a_single_one_and_an_unknown_machine_have_none() -> None:
    unknown = replace(STUDY, change=changing(placement__region=None))
    for study in (FEW, obeying((1,)), unknown):
        assert laws(study.study).empty
        assert not list(LAWS.grids(study.study))


def test_a_row_of_the_table_has_every_parameter_with_its_interval() -> None:
    (grid,) = LAWS.grids(STUDY.study)
    (row,) = grid.rows
    alpha = row[[heading.name for heading in grid.headings].index("alpha")]
    assert alpha.text.startswith("0.05")
    assert "–" in alpha.beside
    assert "1–8" in grid.title
