"""The terms that the workers' time per operation is made of, and an efficiency as their product.

    τ = N·T / n = user + system + collector + run queue + blocked + idle + imbalance + rest

Each is a column of the runs, `user_s_per_op` (`scaling.analysis.table.time_terms`).
"""

from typing import NamedTuple

import numpy as np

from scaling.analysis.arrays import Floats


class Term(NamedTuple):
    """One term: its name in columns and JSON, its words in tables, and what a loss of it can be."""

    name: str
    words: str
    cause: str

    @property
    def column(self) -> str:
        """Its column of the runs, in s per operation."""
        return f"{self.name}_s_per_op"


USER = Term(
    "user",
    "user CPU",
    "more work per operation, or slower work: contended reference counts and caches, or a core "
    "that is slower while its neighbours work",
)
SYSTEM = Term(
    "system", "system CPU", "the kernel: page faults, sockets, or threads that spin on a lock"
)
COLLECTOR = Term("collector", "collector", "more garbage to collect, or more objects to visit")
RUN_QUEUE = Term(
    "run_queue",
    "run queue",
    "more threads are ready to run than there are CPUs; those of other programs count, too",
)
BLOCKED = Term(
    "blocked",
    "blocked",
    "a lock, a stop of all threads for a collection, the allocator (all futex); or a call that "
    "sleeps or reads a file",
)
IDLE = Term("idle", "idle", "too little work in flight for the loop, or a service that is slow")
IMBALANCE = Term("imbalance", "imbalance", "some workers had less work than others")
REST = Term("rest", "rest", "CPU time taken by the host, interrupts, or page faults that wait")

TERMS = (USER, SYSTEM, COLLECTOR, RUN_QUEUE, BLOCKED, IDLE, IMBALANCE, REST)
# Where calls could not be sampled, these are not separable: idle has them in it.
NOT_SEPARATE = (BLOCKED, REST)
OTHER_THREADS = Term("other_threads", "other threads", "a thread pool; no part of the sum")
WHOLE = Term("worker", "all", "")


def log_factors(at_one: Floats, at_n: Floats) -> Floats:
    """The logarithm of each term's factor, shape (terms, …).

    `at_one` and `at_n` are the terms at N = 1 and at N, of that shape, in s per operation. The
    efficiency is τ(1)/τ(N), and τ(N) - τ(1) is the sum of the terms' losses Δ. With the logarithmic
    mean L = (τ(N) - τ(1)) / ln(τ(N)/τ(1)) the factors exp(-Δ/L) multiply to it exactly and without
    an order: the additive form of the logarithmic mean Divisia index (B. W. Ang, Energy Policy 32
    (2004), 1131-1139).
    """
    return -(at_n - at_one) / _log_mean(at_one.sum(axis=0), at_n.sum(axis=0))


def _log_mean(one: Floats, other: Floats) -> Floats:
    """The logarithmic mean of positive values; of two that are equal it is their value."""
    growth = (other - one) / one
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(growth == 0, one, one * growth / np.log1p(growth))
