"""An efficiency as a product of one factor for each term, exactly and without an order.

The efficiency is τ(1)/τ(N), and τ(N) - τ(1) is the sum of the terms' losses Δ. With the logarithmic
mean L = (τ(N) - τ(1)) / ln(τ(N)/τ(1)) the factors exp(-Δ/L) multiply to it: the additive form of
the logarithmic mean Divisia index (B. W. Ang, Energy Policy 32 (2004), 1131-1139).
"""

import numpy as np

from scaling.analysis.arrays import Floats


def log_factors(at_one: Floats, at_n: Floats) -> Floats:
    """The logarithm of each term's factor in each block, shape (blocks, terms).

    `at_one` and `at_n` are the terms at N = 1 and at N, of that shape, in s per operation. Each row
    sums to the logarithm of that block's efficiency.
    """
    one, many = at_one.sum(axis=1), at_n.sum(axis=1)
    return -(at_n - at_one) / _log_mean(one, many)[:, np.newaxis]


def _log_mean(one: Floats, other: Floats) -> Floats:
    """The logarithmic mean of positive values; of two that are equal it is their value."""
    growth = (other - one) / one
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(growth == 0, one, one * growth / np.log1p(growth))
