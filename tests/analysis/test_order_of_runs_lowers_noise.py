"""The order, length and number of runs: A/A pairs show the noise, and intervals are narrow.

These simulations have the components of the published journals."""

from dataclasses import replace

import numpy as np
import pytest

from scaling.study.plan.order import LEVELS, Levels
from scaling.study.presets import FEWEST_FOR_INTERVAL, PRESETS
from tests.support.noise import (
    AFTER,
    BESIDE,
    SHUFFLED,
    Noise,
    compare_slots,
    gained,
    half_widths,
    scatters,
)

OF_THE_MACHINE = Noise(machine=20.0, process=1.0, inside=0.1)


def geometric_mean(values: list[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def test_a_machine_that_changes_inside_a_block_shows_in_pairs_as_in_gains() -> None:
    """The scatter of A/A pairs is that of gains, in the study `compare`."""

    def pair_over_gain(levels: Levels) -> float:
        design = replace(AFTER, levels=levels)
        found = [scatters(compare_slots(), 40, design, OF_THE_MACHINE, seed) for seed in range(10)]
        pairs, gains = np.sqrt(np.mean(np.square(found), axis=0))
        return float(pairs / gains)

    assert pair_over_gain(LEVELS) == pytest.approx(1.0, abs=0.1)
    assert pair_over_gain(BESIDE) < 0.85, "beside its cell a pair would hide it"


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
