"""Whatever arrays a law is given, it is fitted to them or says in a sentence why it cannot be."""

import math
from collections.abc import Callable, Iterator
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scaling.analysis.laws import choose, fit_amdahl, fit_linear, fit_usl, karp_flatt, resample

FITS = [fit_linear, fit_amdahl, fit_usl, choose]
NS = [1, 2, 3, 4, 6, 8]
RUNS = [10.0, 19.0, 27.0, 34.0, 45.0, 53.0]

type Arrays = tuple[list[float], list[float]]


@pytest.fixture(autouse=True, scope="module")
def quick() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resample, "RESAMPLES", 100)
        yield


def lists(elements: st.SearchStrategy[float]) -> st.SearchStrategy[list[float]]:
    return st.lists(elements, max_size=12)


ANY = lists(st.floats(allow_nan=True, allow_infinity=True, width=64))


@st.composite
def sensible(draw: st.DrawFn) -> Arrays:
    """Six distinct Ns or more, some twice, in any order, with any positive throughput."""
    distinct = draw(st.lists(st.integers(1, 512), min_size=6, max_size=10, unique=True))
    ns = [*distinct, *draw(st.lists(st.sampled_from(distinct), max_size=4))]
    unit = 10.0 ** draw(st.integers(-9, 12))
    runs = [unit * draw(st.floats(1e-3, 1e3)) for _ in ns]
    order = draw(st.permutations(range(len(ns))))
    return [float(ns[i]) for i in order], [runs[i] for i in order]


@pytest.mark.slow
@settings(max_examples=25)
@given(sensible())
def test_sensible_arrays_are_fitted_inside_the_bounds(arrays: Arrays) -> None:
    fit = fit_usl(*arrays)
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
@settings(max_examples=25)
@given(sensible())
def test_a_law_with_more_parameters_leaves_no_more_squares(arrays: Arrays) -> None:
    ns, runs = map(np.array, arrays)
    left = [
        np.sum((fit(ns, runs).predict(ns) - runs) ** 2) for fit in (fit_linear, fit_amdahl, fit_usl)
    ]
    assert left[1] <= left[0] * (1 + 1e-9)
    assert left[2] <= left[1] * (1 + 1e-6) + 1e-24 * np.sum(runs**2)


@pytest.mark.slow
@settings(max_examples=20)
@given(sensible(), st.randoms(use_true_random=False))
def test_order_does_not_matter(arrays: Arrays, random: Random) -> None:
    pairs = list(zip(*arrays, strict=True))
    fit = fit_amdahl(*arrays)
    random.shuffle(pairs)
    again = fit_amdahl(*map(list, zip(*pairs, strict=True)))
    assert again.alpha == pytest.approx(fit.alpha, rel=1e-6, abs=1e-9)


@settings(max_examples=100)
@given(ANY, ANY)
def test_any_arrays_are_fitted_or_refused_in_a_sentence(ns: list[float], runs: list[float]) -> None:
    said = _refused(fit_amdahl, ns, runs)
    assert said is None or 10 < len(said) < 200
    said = _refused(karp_flatt, ns, runs)
    assert said is None or 10 < len(said) < 200
    if said is None:
        assert (np.isnan(karp_flatt(ns, runs)) == (np.array(ns) == 1)).all()


def _refused(what: Callable[..., object], *arrays: list[float]) -> str | None:
    try:
        what(*arrays)
    except ValueError as error:
        return str(error)
    return None


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize(
    ("ns", "runs", "said"),
    [
        ([], [], "workers is empty"),
        ([1], [10.0], "too few points: 1 distinct N"),
        (NS[:5], RUNS[:5], "too few points: 5 distinct N, and a law needs 6"),
        ([1, 1, 2, 2, 4, 4], RUNS, "too few points: 3 distinct N"),
        (NS, RUNS[:5], "differ in length: 6 and 5"),
        ([math.nan, *NS[1:]], RUNS, "workers has NaN or infinity"),
        (NS, [math.inf, *RUNS[1:]], "throughput has NaN or infinity"),
        ([0, *NS[1:]], RUNS, "workers must be 1 or more; 0 is among them"),
        (NS, [0.0, *RUNS[1:]], "throughput must be positive; 0 is among it"),
        (NS, [0.0] * 6, "throughput must be positive"),
        (NS, [-3.0, *RUNS[1:]], "throughput must be positive; -3 is among it"),
        ([NS], [RUNS], "workers must be a one-dimensional array; this has 2"),
    ],
)
def test_what_cannot_be_fitted_is_reported(
    fit: Callable[..., object], ns: list[float], runs: list[float], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        fit(ns, runs)


def test_blocks_must_fit_the_values() -> None:
    with pytest.raises(ValueError, match="workers and blocks differ in length: 6 and 2"):
        fit_usl(NS, RUNS, [0, 1])
    with pytest.raises(ValueError, match="a block has two values at one N"):
        fit_usl([*NS, 8], [*RUNS, 54.0], [0] * 7)


def test_blocks_may_be_words_and_have_gaps() -> None:
    blocks = [name for name in "abcdefg" for _ in NS]
    runs = np.tile(RUNS, 7) * np.repeat([1.0, 1.01, 0.99, 1.02, 0.98, 1.0, 1.03], 6)
    whole = fit_usl(NS * 7, runs, blocks)
    torn = fit_usl((NS * 7)[1:], runs[1:], blocks[1:])
    assert torn.alpha == pytest.approx(whole.alpha, abs=0.02)
    assert "7 blocks" in whole.method


def test_few_blocks_have_intervals_of_residuals() -> None:
    assert fit_usl(NS * 3, RUNS * 3, np.repeat([0, 1, 2], 6)).method == "bootstrap of residuals"


def test_what_is_predicted_has_the_shape_that_was_asked_for() -> None:
    fit = fit_usl(NS, RUNS)
    assert fit.predict(3).shape == ()
    assert fit.predict([[1, 2, 3], [4, 5, 6]]).shape == (2, 3)
    low, high = fit.band([1.0, 2.5])
    assert low.shape == high.shape == (2,)
    for wrong in (0, [1, math.nan], math.inf):
        with pytest.raises(ValueError, match=r"NaN|1 or more"):
            fit.predict(wrong)
