"""The runs of an A/A pair are as far apart as those of a gain, so they show its noise."""

from dataclasses import replace

import numpy as np
import pytest

from scaling.study.plan.order import LEVELS, Levels
from tests.support.noise import AFTER, BESIDE, Noise, compare_cells, scale_cells, scatters

SEEDS, BLOCKS = range(12), 40
OF_THE_MACHINE = Noise(machine=20.0, process=1.0, inside=0.1)


def pair_over_gain(noise: Noise, levels: Levels) -> float:
    """The scatter of A/A pairs over that of gains, in the study `compare`."""
    design = replace(AFTER, levels=levels)
    found = [scatters(compare_cells(), BLOCKS, design, noise, seed) for seed in SEEDS]
    pairs, gains = np.sqrt(np.mean(np.square(found), axis=0))
    return float(pairs / gains)


def test_a_machine_that_changes_inside_a_block_shows_in_pairs_as_in_gains() -> None:
    assert pair_over_gain(OF_THE_MACHINE, LEVELS) == pytest.approx(1.0, abs=0.1)


def test_beside_their_cells_pairs_would_hide_it() -> None:
    assert pair_over_gain(OF_THE_MACHINE, BESIDE) < 0.85


def test_with_the_noise_of_published_journals_the_difference_is_small() -> None:
    assert 0.85 < pair_over_gain(Noise(), BESIDE) < pair_over_gain(Noise(), LEVELS) < 1.05


def test_the_other_runs_stand_as_before() -> None:
    """What the order of arms, Ns and loops was chosen for stays."""
    apart, beside = (
        np.mean([scatters(scale_cells(), BLOCKS, design, Noise(), seed)[1] for seed in SEEDS])
        for design in (AFTER, replace(AFTER, levels=BESIDE))
    )
    assert apart == pytest.approx(beside, rel=0.05)
