"""The order, length and number of runs: A/A pairs show the noise, and intervals are narrow.

`python -m tests.benchmarks precision` measures it; these simulations have the components of the
published journals. Stopping when intervals are narrow costs little of their coverage."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from scaling.analysis.arrays import Floats
from scaling.analysis.statistics.estimate import medians
from scaling.study.plan.order import LEVELS, Levels
from scaling.study.presets import FEWEST_FOR_INTERVAL, PRESETS
from tests.support.noise import (
    AFTER,
    BESIDE,
    SHUFFLED,
    Noise,
    compare_cells,
    gained,
    half_widths,
    scatters,
)

BLOCKS = 40
OF_THE_MACHINE = Noise(machine=20.0, process=1.0, inside=0.1)


def pair_over_gain(noise: Noise, levels: Levels) -> float:
    """The scatter of A/A pairs over that of gains, in the study `compare`."""
    design = replace(AFTER, levels=levels)
    found = [scatters(compare_cells(), BLOCKS, design, noise, seed) for seed in range(10)]
    pairs, gains = np.sqrt(np.mean(np.square(found), axis=0))
    return float(pairs / gains)


def geometric_mean(values: list[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def test_a_machine_that_changes_inside_a_block_shows_in_pairs_as_in_gains() -> None:
    assert pair_over_gain(OF_THE_MACHINE, LEVELS) == pytest.approx(1.0, abs=0.1)
    assert pair_over_gain(OF_THE_MACHINE, BESIDE) < 0.85, "beside its cell a pair would hide it"


def test_half_widths_are_at_most_six_tenths_of_those_of_long_runs() -> None:
    found = [gained(seed) for seed in range(10)]
    error = np.std(np.log(found), ddof=1) / np.sqrt(len(found))
    assert geometric_mean(found) <= 0.6 * np.exp(3 * error)
    assert PRESETS["smoke"].window_s == AFTER.window_s
    assert PRESETS["smoke"].blocks >= FEWEST_FOR_INTERVAL


def test_neighbours_share_what_the_machine_does() -> None:
    """Where all noise is the machine's, the order alone makes most of the difference."""
    shuffled = replace(AFTER, levels=SHUFFLED)
    ratios = [
        geometric_mean(half_widths(AFTER, 300, OF_THE_MACHINE, seed))
        / geometric_mean(half_widths(shuffled, 300, OF_THE_MACHINE, seed))
        for seed in range(8)
    ]
    assert geometric_mean(ratios) < 0.6


STUDIES = 1_000
PRECISION = 0.02
MAX_BLOCKS = 24  # a bound as good as any: the rule is the same


def coverage_of(ratios: int, scatter: float) -> tuple[float, float]:
    """Share of the final intervals that hold the true ratio, and how many blocks it took.

    `ratios` are headline ratios of one study whose logarithms scatter normally by `scatter`.
    """
    rng = np.random.default_rng(20261120)
    values = np.exp(rng.normal(0, scatter, (MAX_BLOCKS, STUDIES, ratios)))
    going_on = np.arange(STUDIES)
    holds, blocks = [], []
    for n in range(FEWEST_FOR_INTERVAL, MAX_BLOCKS + 1):
        low, point, high = intervals(values[:n, going_on])
        narrow = ((high - low) / 2 / point <= PRECISION).all(axis=1) | (n == MAX_BLOCKS)
        holds.append(((low <= 1) & (high >= 1))[narrow])
        blocks += [n] * int(narrow.sum())
        going_on = going_on[~narrow]
    return float(np.concatenate(holds).mean()), float(np.mean(blocks))


def intervals(values: Floats) -> list[Floats]:
    """Low, point and high of medians; shape (blocks, studies, ratios) in, (studies, ratios) out."""
    found = medians(values.reshape(len(values), -1), "×")
    table = np.array([(each.low, each.point, each.high) for each in found]).reshape(-1, 3)
    return [table[:, place].reshape(values.shape[1:]) for place in range(3)]


def test_a_single_ratio_is_covered_at_nine_in_ten() -> None:
    taken = []
    for scatter in (0.01, 0.02, 0.03, 0.05):
        covered, blocks = coverage_of(1, scatter)
        assert 0.895 < covered < 0.975  # 0.90, less two standard errors of 1,000 studies
        taken.append(blocks)
    assert all(few < more for few, more in pairwise(taken)), "more noise takes more blocks"
    assert taken[2] < MAX_BLOCKS


@pytest.mark.parametrize("scatter", [0.02, 0.03])
def test_several_ratios_must_all_be_narrow_and_are_covered_as_they_should(scatter: float) -> None:
    covered, _ = coverage_of(4, scatter)
    assert 0.93 < covered < 0.975
