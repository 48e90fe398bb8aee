"""Stopping when intervals are narrow favours narrow ones; how much they then cover is simulated."""

import numpy as np
import pytest

from scaling.analysis.statistics.estimate import medians
from scaling.study.presets import FEWEST_FOR_INTERVAL

STUDIES = 1_000
PRECISION = 0.02
MAX_BLOCKS = 24  # a bound as good as any: the rule is the same


def coverage_of(ratios: int, scatter: float) -> tuple[float, float]:
    """Share of the final intervals that hold the true ratio, and how many blocks it took.

    `ratios` are headline ratios of one study whose logarithms scatter normally by `scatter`.
    """
    rng = np.random.default_rng(20261120)
    values = np.exp(rng.normal(0, scatter, (MAX_BLOCKS, STUDIES * ratios)))
    going_on = np.ones(STUDIES, dtype=bool)
    holds = np.zeros((STUDIES, ratios), dtype=bool)
    blocks = np.zeros(STUDIES)
    for n in range(FEWEST_FOR_INTERVAL, MAX_BLOCKS + 1):
        found = medians(values[:n], "×")
        low, high, point = (
            np.reshape([getattr(each, name) for each in found], (STUDIES, ratios))
            for name in ("low", "high", "point")
        )
        narrow = ((high - low) / 2 / point <= PRECISION).all(axis=1)
        stops = going_on & (narrow | (n == MAX_BLOCKS))
        holds[stops] = ((low <= 1) & (high >= 1))[stops]
        blocks[stops] = n
        going_on &= ~stops
    return float(holds.mean()), float(blocks.mean())


@pytest.mark.parametrize("scatter", [0.01, 0.02, 0.03, 0.05])
def test_a_single_ratio_is_covered_at_nine_in_ten(scatter: float) -> None:
    covered, blocks = coverage_of(1, scatter)
    assert 0.895 < covered < 0.975  # 0.90, less two standard errors of 1,000 studies
    assert blocks < MAX_BLOCKS or scatter == 0.05


@pytest.mark.slow
@pytest.mark.parametrize("scatter", [0.02, 0.03])
def test_several_ratios_must_all_be_narrow_and_are_covered_as_they_should(scatter: float) -> None:
    covered, _ = coverage_of(4, scatter)
    assert 0.93 < covered < 0.975


def test_more_noise_takes_more_blocks() -> None:
    assert coverage_of(1, 0.01)[1] < coverage_of(1, 0.02)[1] < coverage_of(1, 0.03)[1]
