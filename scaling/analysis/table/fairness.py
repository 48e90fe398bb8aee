"""How evenly the operations are spread over the workers."""

import numpy as np

from scaling.analysis.arrays import Flags, Floats
from scaling.analysis.table.column import Column, Shown
from scaling.analysis.table.stacks import Stack
from scaling.analysis.table.ticks import from_ticks


def jain(rates: Floats, rated: Flags | None = None) -> Floats:
    """Jain's fairness index over the last axis: 1 when all are equal, 1/n when one has all.

    (Σx)² / (n Σx²): R. Jain, D. Chiu, W. Hawe, DEC-TR-301 (1984). NaN when nothing was done. Only
    of those that are `rated`, if given.
    """
    of_these = np.ones(rates.shape, np.bool_) if rated is None else rated
    kept = np.where(of_these, rates, 0.0)
    with np.errstate(invalid="ignore"):
        return np.asarray(
            kept.sum(axis=-1) ** 2 / (of_these.sum(axis=-1) * np.square(kept).sum(axis=-1))
        )


def _slowest_over_fastest(stack: Stack) -> Floats:
    slowest = np.where(stack.rated, stack.rates, np.inf).min(axis=1)
    return np.asarray(slowest / np.where(stack.rated, stack.rates, -np.inf).max(axis=1))


def _idle(stack: Stack) -> Floats:
    return ((stack.done <= 0) & stack.rated).sum(axis=1).astype(np.float64)


FAIRNESS = {
    "fairness": Column(
        read=from_ticks(lambda stack: jain(stack.rates, stack.rated), inside=True),
        definition="Jain's index of the workers' rates (operations ÷ own time, who only serves "
        "left out): 1 equal, 1/N one has all",
        better="more",
        shown=Shown(heading="fairness", name="fairness", place=140, extra=True),
    ),
    "fairness_min_max": Column(
        read=from_ticks(_slowest_over_fastest, inside=True),
        definition="slowest worker's rate ÷ fastest worker's",
        better="more",
    ),
    "idle_workers": Column(
        read=from_ticks(_idle),
        definition="workers that finished no operation and do not only serve others",
        in_frame=False,
    ),
}
