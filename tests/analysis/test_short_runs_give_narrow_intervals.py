"""For the same time, many short runs side by side give narrower intervals than few long ones.

`python -m tests.benchmarks precision` measures it; this is the simulation with the components of
the published journals.
"""

from dataclasses import replace

import numpy as np

from scaling.study.presets import FEWEST_FOR_INTERVAL, PRESETS
from tests.support.noise import AFTER, SHUFFLED, Noise, gained, half_widths

SEEDS = range(16)


def geometric_mean(values: list[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def test_half_widths_are_at_most_six_tenths_of_what_they_were() -> None:
    found = [gained(seed) for seed in SEEDS]
    error = np.std(np.log(found), ddof=1) / np.sqrt(len(found))
    assert geometric_mean(found) <= 0.6 * np.exp(3 * error)


def test_neighbours_share_what_the_machine_does() -> None:
    """Where all noise is the machine's, the order alone makes most of the difference."""
    slow = Noise(machine=20.0, process=1.0, inside=0.1)
    shuffled = replace(AFTER, levels=SHUFFLED)
    ratios = [
        geometric_mean(half_widths(AFTER, 300, slow, seed))
        / geometric_mean(half_widths(shuffled, 300, slow, seed))
        for seed in SEEDS
    ]
    assert geometric_mean(ratios) < 0.6


def test_smoke_is_the_design_that_was_simulated() -> None:
    assert PRESETS["smoke"].window_s == AFTER.window_s
    assert PRESETS["smoke"].blocks >= FEWEST_FOR_INTERVAL
