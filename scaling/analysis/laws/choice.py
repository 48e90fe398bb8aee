"""Which law to choose: the one that explains most with the fewest parameters."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scaling.analysis.laws.fits import SEED, AmdahlFit, Fit, LinearFit, UslFit, with_intervals
from scaling.analysis.laws.formula import LAWS
from scaling.analysis.laws.observations import observe
from scaling.analysis.laws.solution import solve

KINDS: Mapping[str, type[Fit]] = {kind.law.name: kind for kind in (LinearFit, AmdahlFit, UslFit)}


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """The law with the lowest AICc, fitted, and how the laws compare.

    `weights` are Akaike weights, which add up to 1: how much of the evidence is for each law. A
    chosen law with little more than another is a description, and no discovery.
    """

    fit: Fit
    aicc: Mapping[str, float]
    weights: Mapping[str, float]


def choose(
    workers: npt.ArrayLike,
    throughput: npt.ArrayLike,
    blocks: npt.ArrayLike | None = None,
    *,
    seed: int = SEED,
) -> Choice:
    """Fit all three laws and take the one with the lowest AICc; the simpler one of equals.

    With six values the Universal Scalability Law is charged 30 points more than Amdahl's and 40
    more than the line: it is taken only if it leaves less than a hundredth of their squares.
    With ten the charges are 6 and 10. Noise alone makes Amdahl's law of a line, or USL of Amdahl's
    law, in about one case of twenty.

    Takes and raises what `fit_usl` does; `blocks` make the values medians, one for each N.
    """
    seen = observe(workers, throughput, blocks)
    solutions = [solve(law, seen) for law in LAWS]
    aicc = np.array([solution.aicc for solution in solutions])
    best = int(np.argmin(aicc.round(6)))
    chosen = solutions[best]
    likely = np.exp((aicc.min() - aicc) / 2)
    weights = likely / likely.sum()
    return Choice(
        with_intervals(KINDS[chosen.law.name], chosen, seed),
        {law.name: float(value) for law, value in zip(LAWS, aicc, strict=True)},
        {law.name: float(value) for law, value in zip(LAWS, weights, strict=True)},
    )
