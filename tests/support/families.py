"""Simulated studies whose true ratios are known: how often their verdicts are wrong, and find."""

from dataclasses import dataclass

import numpy as np

from scaling.analysis.statistics.hypotheses import Family
from scaling.analysis.statistics.verdict import Hypothesis, hypothesis, judge

PRIMARY, EXPLORATORY, BLOCKS = 9, 60, 8  # as the published study `compare-pgo` has them
SPREAD, EFFECT, TRUE = 0.04, 0.07, 0.3  # of log ratios; and the share of them that have an effect


@dataclass(frozen=True)
class Rates:
    """Of simulated studies: the share with any wrong primary verdict (`familywise`), the mean share
    of wrong ones among exploratory verdicts (`false_discovery`), and the shares of true effects
    that were found.
    """

    familywise: float
    false_discovery: float
    primary_power: float
    exploratory_power: float


def simulate(studies: int, seed: int, *, one_family: bool = False, true: float = TRUE) -> Rates:
    """Studies without a margin, so that chance has all the room there is.

    With `one_family` all hypotheses are primary, as before there were two families.
    """
    rng = np.random.default_rng(seed)
    effects = rng.random((studies, PRIMARY + EXPLORATORY)) < true
    wrong, share, found, explored = [], [], [], []
    for row in effects:
        verdicts = judge([_made(rng, is_one, at, one_family) for at, is_one in enumerate(row)])
        given = np.array([each.verdict.side != 0 for each in verdicts])
        is_primary = np.arange(len(row)) < PRIMARY
        wrong.append((given & ~row & is_primary).any())
        discovered = given & ~is_primary
        share.append((discovered & ~row).sum() / max(1, discovered.sum()))
        found += given[is_primary & row].tolist()
        explored += given[~is_primary & row].tolist()
    power = [float(np.mean(each)) if each else 0.0 for each in (found, explored)]
    return Rates(float(np.mean(wrong)), float(np.mean(share)), *power)


def _made(rng: np.random.Generator, is_effect: bool, at: int, one_family: bool) -> Hypothesis:
    family: Family = "primary" if at < PRIMARY or one_family else "exploratory"
    ratios = np.exp(rng.normal(EFFECT if is_effect else 0.0, SPREAD, BLOCKS))
    return hypothesis(ratios, 0.0, family=family)
