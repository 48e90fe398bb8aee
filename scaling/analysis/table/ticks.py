"""From ticks to figures: throughput, lag, fairness, overlap, CPU and steadiness of every run.

A tick is the one data structure that workers hand in, and all that is known of what counts comes
from here. Times go in as ns and come out as s.
"""

from collections.abc import Sequence

import numpy as np

from scaling.analysis.table.busy import overlap
from scaling.analysis.table.finite import finish, own_span_s
from scaling.analysis.table.stacks import NS_PER_S, Flags, Floats, Stack, over_window, stacks
from scaling.analysis.table.steadiness import late_rise, rates_over_time, rise_and_fall
from scaling.journal.record import Record

FIGURES = (
    "throughput_per_s",
    "finish_s",
    "finish_gap",
    "operations",
    "errors",
    "bytes_per_s",
    "window_s",
    "cpu_s_per_op",
    "cpu_busy",
    "lag_p50_s",
    "lag_max_s",
    "early_max_s",
    "fairness",
    "fairness_min_max",
    "idle_workers",
    "overlap",
    "minor_faults_per_op",
    "late_rise",
    "rise",
    "fall",
    "in_order",
)


def measure(records: Sequence[Record | None]) -> dict[str, Floats]:
    """Every figure of `FIGURES` for every record, in the order given.

    Shape: (len(records),) each. NaN where there is nothing to measure: no record, no ticks, ticks
    of unequal number, a reading that the system does not give, or a figure that runs of this kind
    do not have (a finite run has no lag, overlap or steadiness, only it has a finish).
    """
    figures = {name: np.full(len(records), np.nan) for name in FIGURES}
    for stack in stacks(records):
        with np.errstate(divide="ignore", invalid="ignore"):
            found = _finite(stack) if stack.finite else _windowed(stack)
        for name, values in found.items():
            figures[name][stack.rows] = values
    return figures


def jain(rates: Floats, rated: Flags | None = None) -> Floats:
    """Jain's fairness index over the last axis: 1 when all are equal, 1/n when one has all.

    (Σx)² / (n Σx²): R. Jain, D. Chiu, W. Hawe, DEC-TR-301 (1984). NaN when nothing was done. Of
    those that are `rated`, if not of all.
    """
    of_these = np.ones(rates.shape, np.bool_) if rated is None else rated
    kept = np.where(of_these, rates, 0.0)
    with np.errstate(invalid="ignore"):
        return np.asarray(
            kept.sum(axis=-1) ** 2 / (of_these.sum(axis=-1) * np.square(kept).sum(axis=-1))
        )


def _windowed(stack: Stack) -> dict[str, Floats]:
    span_s = over_window(stack.time) / NS_PER_S
    late_s = _late_s(stack).reshape(len(stack.rows), -1)
    rates = rates_over_time(stack)
    rise, fall = rise_and_fall(rates)
    return _counted(stack, span_s, span_s) | {
        "lag_p50_s": np.median(np.maximum(late_s, 0), axis=1),
        "lag_max_s": np.maximum(late_s, 0).max(axis=1),
        "early_max_s": np.maximum(-late_s, 0).max(axis=1),
        "overlap": overlap(stack),
        "late_rise": late_rise(rates),
        "rise": rise,
        "fall": fall,
    }


def _finite(stack: Stack) -> dict[str, Floats]:
    own_s = own_span_s(stack)
    finish_s, finish_gap = finish(own_s, stack.rated)
    return _counted(stack, np.broadcast_to(finish_s[:, None], own_s.shape), own_s) | {
        "finish_s": finish_s,
        "finish_gap": finish_gap,
        "early_max_s": np.maximum(-_late_s(stack)[..., 0], 0).max(axis=1),
    }


def _counted(stack: Stack, span_s: Floats, own_s: Floats) -> dict[str, Floats]:
    """What follows from first and last ticks alone.

    A worker's operations count as done in `span_s`, and are rated by its `own_s`: the same for a
    window; in a finite run the whole run's time, and the worker's. Shape: runs × workers each.
    """
    done = over_window(stack.operations)
    operations = done.sum(axis=1)
    rates, rated = done / own_s, stack.rated
    slowest = np.where(rated, rates, np.inf).min(axis=1)
    figures = {
        "throughput_per_s": (done / span_s).sum(axis=1),
        "operations": operations,
        "errors": over_window(stack.errors).sum(axis=1),
        "bytes_per_s": (over_window(stack.bytes) / span_s).sum(axis=1),
        "window_s": (over_window(stack.time) / NS_PER_S).mean(axis=1),
        "fairness": jain(rates, rated),
        "fairness_min_max": slowest / np.where(rated, rates, -np.inf).max(axis=1),
        "idle_workers": ((done <= 0) & rated).sum(axis=1).astype(np.float64),
        "in_order": _in_order(stack),
    }
    if stack.cpu is not None:
        cpu_s = over_window(stack.cpu) / NS_PER_S
        figures["cpu_s_per_op"] = _per_operation(cpu_s.sum(axis=1), operations)
        figures["cpu_busy"] = (cpu_s / span_s).sum(axis=1)
    if stack.minor_faults is not None:
        faults = over_window(stack.minor_faults).sum(axis=1)
        figures["minor_faults_per_op"] = _per_operation(faults, operations)
    return figures


def _per_operation(amount: Floats, operations: Floats) -> Floats:
    return np.where(operations > 0, amount / operations, np.nan)


def _late_s(stack: Stack) -> Floats:
    """How late every tick ran."""
    return (stack.time - stack.instant) / NS_PER_S


def _in_order(stack: Stack) -> Floats:
    """1 where every worker's clock moved on from tick to tick, else 0."""
    return np.asarray((np.diff(stack.time, axis=-1) > 0).all(axis=(1, 2)), dtype=np.float64)
