"""When ticks ran, against when they were due: loop lag, and clocks that misbehave."""

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.table.column import Column, Shown
from scaling.analysis.table.stacks import Stack
from scaling.analysis.table.ticks import from_ticks


def _lag_s(stack: Stack) -> Floats:
    """Shape: runs × all ticks of all workers. A tick that ran early has no lag."""
    return np.maximum(stack.late_s, 0).reshape(len(stack.rows), -1)


def _early_s(stack: Stack) -> Floats:
    """How far before its instant the earliest tick ran; of a finite run, the earliest release."""
    late_s = stack.late_s[..., :1] if stack.finite else stack.late_s
    return np.asarray(np.maximum(-late_s, 0).max(axis=(1, 2)))


def _in_order(stack: Stack) -> Floats:
    return np.asarray((stack.steps > 0).all(axis=(1, 2)), dtype=np.float64)


LAG = {
    "lag_p50_s": Column(
        read=from_ticks(lambda stack: np.median(_lag_s(stack), axis=1), of="windowed", inside=True),
        unit="s",
        definition="loop lag: how late a tick ran, median of all ticks; not of finite runs",
        words="loop lag",
        better="less",
        shown=Shown(heading="lag ms", name="lag_p50_ms", factor=1e3, place=120, extra=True),
    ),
    "lag_max_s": Column(
        read=from_ticks(lambda stack: _lag_s(stack).max(axis=1), of="windowed", inside=True),
        unit="s",
        definition="loop lag: the latest tick of any worker; not of finite runs",
        words="worst loop lag",
        better="less",
        shown=Shown(heading="worst lag ms", name="lag_max_ms", factor=1e3, place=135, extra=True),
    ),
    "early_max_s": Column(
        read=from_ticks(_early_s),
        unit="s",
        definition="how long before its instant the earliest tick ran",
        in_frame=False,
    ),
    "in_order": Column(
        read=from_ticks(_in_order),
        definition="1 where every worker's clock moved on from tick to tick, else 0",
        in_frame=False,
    ),
}
