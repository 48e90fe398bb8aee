"""Finite runs: every worker does a stated number of operations after one release of them all.

A worker has two ticks, at its release and at its finish. That some finish before others is part of
the result: the run's throughput is that of all until the last is done.
"""

import numpy as np

from scaling.analysis.table.stacks import NS_PER_S, Flags, Floats, Stack


def own_span_s(stack: Stack) -> Floats:
    """From the release to each worker's own finish, s; shape runs × workers."""
    return (stack.time[..., -1] - _release(stack)) / NS_PER_S


def finish(own_s: Floats, rated: Flags) -> tuple[Floats, Floats]:
    """Time to the last worker's finish, s, and which part of it the first one no longer worked.

    Shape: (runs,) each. Those that only serve the others (not `rated`) are done when these are.
    """
    last = np.where(rated, own_s, -np.inf).max(axis=1)
    first = np.where(rated, own_s, np.inf).min(axis=1)
    return last, 1 - first / last


def _release(stack: Stack) -> "Floats":
    """The instant at which all workers of a run were released, ns; shape runs × 1."""
    return np.asarray(stack.instant[..., 0].min(axis=1, keepdims=True), dtype=np.float64)
