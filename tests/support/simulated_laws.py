"""Throughputs simulated by the Universal Scalability Law."""

import numpy as np

from scaling.analysis.arrays import Floats

SEED = 20261120
NOISES = ("normal", "skewed", "heavy-tailed", "clustered")


def usl(ns: Floats, alpha: float, beta: float, gamma: float = 1.0) -> Floats:
    """Throughput of `ns` workers."""
    return gamma * ns / (1 + alpha * (ns - 1) + beta * ns * (ns - 1))


def errors(noise: str, true: Floats, blocks: int, rng: np.random.Generator) -> Floats:
    """What `noise` adds to the throughputs `true`, of shape (blocks, N)."""
    size = (blocks, len(true))
    relative = {
        "normal": lambda: rng.normal(0, 0.03, size),
        "skewed": lambda: 0.03 * (1 - rng.exponential(1, size)),
        "heavy-tailed": lambda: 0.02 * np.clip(rng.standard_t(2, size), -20, 20),
        "clustered": lambda: rng.normal(0, 0.02, size) + rng.normal(0, 0.03, (blocks, 1)),
    }[noise]()
    return np.asarray(true * relative)
