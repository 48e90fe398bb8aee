"""Equal cells are called different no more often than the error rate: the check of all verdicts.

One p-value for each A/A pair and measure, of all published studies together. Inside one study there
are too few.
"""

from collections.abc import Sequence

import numpy as np
import pytest
from scipy.stats import binom

from scaling.analysis.statistics.hypotheses import ERROR_RATE
from scaling.analysis.statistics.noise import COLUMNS, AAPair
from scaling.analysis.statistics.verdict import hypothesis
from scaling.analysis.table.column import Noise
from tests.support.published import FOLDERS, results_of


@pytest.fixture(scope="module")
def pairs() -> list[AAPair]:
    return [pair for folder in FOLDERS for pair in results_of(folder).floor.pairs]


def p_values(pairs: Sequence[AAPair], measure: Noise) -> list[float]:
    found = [pair.p_equal[measure] for pair in pairs]
    return [p for p in found if not np.isnan(p)]


def are_too_many(below: int, of: int) -> bool:
    """Whether chance gives so many in fewer than one of a hundred sets of studies."""
    return below > binom.ppf(0.99, of, ERROR_RATE)


@pytest.mark.parametrize("measure", COLUMNS)
def test_published_pairs_are_unequal_no_more_often_than_chance(
    pairs: list[AAPair], measure: Noise
) -> None:
    found = p_values(pairs, measure)
    assert len(found) > 20
    assert not are_too_many(sum(p < ERROR_RATE for p in found), len(found))


def test_none_is_called_different_so_no_verdict_is_withheld(pairs: list[AAPair]) -> None:
    for pair in pairs:
        assert {each.verdict.side for each in pair.ratios.values()} == {0}, pair.name


def test_a_second_run_that_is_always_slower_would_be_seen() -> None:
    """The test can fail: 3 % in 80 pairs of as many blocks and as much noise as those."""
    rng = np.random.default_rng(20)
    found = [hypothesis(0.97 * np.exp(rng.normal(0, 0.05, 8)), 0.0).p_differs for _ in range(80)]
    assert are_too_many(sum(p < ERROR_RATE for p in found), len(found))
