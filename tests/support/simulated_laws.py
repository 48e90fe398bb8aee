"""Studies simulated by the Universal Scalability Law: how often do intervals hold the truth?"""

import math

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.laws import USL, Fit

SEED = 20261120
SHAPES = {"both": (0.05, 0.002), "steep": (0.3, 0.01), "no coherency": (0.02, 0.0)}
"""Contention and coherency."""
CASES = [
    ("both", "normal", 8),
    ("steep", "skewed", 8),
    ("no coherency", "heavy-tailed", 8),
    ("both", "clustered", 20),
    ("steep", "even", 1),
    ("no coherency", "even", 1),
]
"""Shape, noise, blocks."""


def usl(ns: Floats, alpha: float, beta: float, gamma: float = 1.0) -> Floats:
    """Throughput of `ns` workers."""
    return gamma * ns / (1 + alpha * (ns - 1) + beta * ns * (ns - 1))


def errors(noise: str, true: Floats, blocks: int, rng: np.random.Generator) -> Floats:
    """What `noise` adds to the throughputs `true`, of shape (blocks, N)."""
    size = (blocks, len(true))
    if noise == "even":  # the same at every N
        return rng.normal(0, 0.02, size) * true.max()
    relative = {
        "normal": lambda: rng.normal(0, 0.03, size),
        "skewed": lambda: 0.03 * (math.log(2) - rng.exponential(1, size)),
        "heavy-tailed": lambda: 0.02 * np.clip(rng.standard_t(2, size), -20, 20),
        "clustered": lambda: rng.normal(0, 0.02, size) + rng.normal(0, 0.03, (blocks, 1)),
    }[noise]()
    return np.asarray(true * relative)


def rates_held(shape: str, noise: str, blocks: int, studies: int) -> dict[str, float]:
    """The share of `studies` in which the interval of each parameter holds its true value."""
    alpha, beta = SHAPES[shape]
    truth = {"gamma": 1.0, "alpha": alpha, "beta": beta}
    held = dict.fromkeys(truth, 0)
    rng = np.random.default_rng(SEED)
    ns = np.arange(1.0, 8)
    true = usl(ns, alpha, beta)
    for _ in range(studies):
        fit = Fit(USL, ns, true + errors(noise, true, blocks, rng))
        for name, value in truth.items():
            low, high = fit.intervals[name]
            held[name] += low <= value * (1 + 1e-12) and value <= high
    return {name: count / studies for name, count in held.items()}
