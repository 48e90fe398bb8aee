"""Columns that follow from ticks: throughput and its costs, overlap, fairness, lag.

The window of a finite run is its release to its finish. That some workers of it finish before
others is part of the result: its throughput is that of all until the last is done. If it took turns
by rounds, this holds of each round: time to finish is the sum over rounds of the time from the
release of all workers to the last one's finish, and throughput is all operations over that sum.
Waiting for the last one counts in every round: meanwhile it has the CPUs, or the GIL, for itself.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import numpy as np

from scaling.analysis.arrays import Flags, Floats, Integers
from scaling.analysis.column import Column, Read, Shown
from scaling.analysis.rows import Rows
from scaling.analysis.stacks import Stack, over_window, readings, stacks
from scaling.analysis.table.processes import process_cpu_s
from scaling.analysis.validity.course import LEAST_STALL, MISSED
from scaling.journal.record import Record

type Figure = Callable[[Stack], Floats]


def from_ticks(
    figure: Figure, of: Literal["windowed", "finite"] | None = None, *, inside: bool = False
) -> Read:
    """Read a figure of the runs' ticks; of runs with a window only, or of finite ones only.

    `inside`: only the workers themselves know it, so commands that were measured from outside have
    none. `figure` has one value for each run of a stack. NaN is the value of runs of the other
    kind, without a record, or with ticks that do not fit.
    """

    def read(rows: Rows) -> Floats:
        known = [each for each in rows.stacks if not (inside and each.outside)]
        return _read(figure, known, len(rows.runs), of)

    return read


def throughputs(records: Sequence[Record | None]) -> Floats:
    """Operations per s of each record, NaN where that is not known."""
    return _read(_throughput, stacks(map(readings, records)), len(records))


def _read(figure: Figure, every: Iterable[Stack], count: int, of: str | None = None) -> Floats:
    found = np.full(count, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        for stack in every:
            if of is None or (of == "finite") is stack.finite:
                found[stack.rows] = figure(stack)
    return found


def _throughput(stack: Stack) -> Floats:
    return np.asarray((stack.done / stack.counted_s).sum(axis=1))


def _finish_gap(stack: Stack) -> Floats:
    first = np.where(stack.rated, stack.own_s, np.inf).min(axis=1)
    return np.asarray(1 - first / stack.counted_s[:, 0])


def _payload_per_s(rows: Rows) -> Floats:
    moved = from_ticks(lambda stack: (stack.payload / stack.counted_s).sum(axis=1), inside=True)
    served = np.array([run.load is not None for run in rows.runs], dtype=bool)
    per_s = np.asarray(moved(rows))
    return np.where(served & (per_s == 0), np.nan, per_s)


def _cost_per_operation(rows: Rows) -> Floats:
    found = from_ticks(lambda stack: _per_operation(stack.cpu_s, stack))(rows)
    whole_s = np.array([np.nan if run.load is None else process_cpu_s(run) for run in rows.runs])
    operations = np.asarray(rows["operations"], np.float64)
    known = np.isfinite(whole_s) & (operations > 0)
    return np.where(known, whole_s / np.where(known, operations, 1.0), found)


def _per_operation(amount: Floats, stack: Stack) -> Floats:
    operations = stack.done.sum(axis=1)
    return np.where(operations > 0, amount.sum(axis=1) / operations, np.nan)


COUNTED = {
    "throughput_per_s": Column(
        read=from_ticks(_throughput),
        unit="operations/s",
        definition="sum over workers of operations between first and last tick ÷ time; finite: "
        "operations of all workers ÷ `finish_s`; primitives: without the empty loop",
        better="more",
        shown=Shown("{operation}/s", "throughput_per_s", 0),
    ),
    "finish_s": Column(
        read=from_ticks(lambda stack: stack.counted_s[:, 0], of="finite"),
        definition="finite only: release of all workers to the last one's finish; of work that is "
        "done in rounds, the sum of these",
        better="less",
        shown=Shown("finish s", "finish_s", 10),
    ),
    "finish_gap": Column(
        read=from_ticks(_finish_gap, of="finite"),
        definition="share of `finish_s` in which the first worker was already done",
        in_frame=False,
    ),
    "operations": Column(
        read=from_ticks(lambda stack: stack.done.sum(axis=1)),
        definition="operations of all workers inside the window",
    ),
    "errors": Column(
        read=from_ticks(lambda stack: stack.errors.sum(axis=1)),
        definition="operations that went wrong inside the window",
        better="less",
    ),
    "bytes_per_s": Column(
        read=_payload_per_s,
        definition="payload moved inside the window ÷ time, all workers; a server does not count "
        "it",
        better="more",
    ),
    "window_s": Column(
        read=from_ticks(lambda stack: stack.window_s.mean(axis=1)),
        definition="time between first and last tick, mean of the workers",
    ),
    "cpu_s_per_op": Column(
        read=_cost_per_operation,
        definition="CPU time of the workers' threads (of a served run: of all threads of their "
        "processes; of a command: of all its processes) ÷ operations; primitives: without the "
        "empty loop",
        better="less",
        noise="cpu_s_per_op",
        shown=Shown("CPU µs/op", "cpu_us_per_op", 40, 1e6),
    ),
    "cpu_busy": Column(
        read=from_ticks(lambda stack: (stack.cpu_s / stack.counted_s).sum(axis=1)),
        definition="CPU s per s, summed over workers: cores in use",
    ),
}

FAULTS = {
    "minor_faults_per_op": Column(
        read=from_ticks(lambda stack: _per_operation(stack.minor_faults, stack)),
        definition="pages fetched from the kernel ÷ operations",
        better="less",
    )
}


# --------------------------------------------------------------------------------------------- busy
# Overlap: in how much of the counted time all workers were busy together.
#
# Busy spans are compared, not the times of ticks: with the GIL a tick can come 100 ms late while
# its worker is busy all the time.

# A worker stalls if for a long time it does almost nothing, in operations and in CPU time. A worker
# that waits for I/O still does a little all the time. One that waits for the GIL may do nothing in
# several slices; that is no stall (`scaling.analysis.validity.course`).
# A stall lasts at least this long, also in short windows. A busy machine takes the CPU away for
# about 0.1 s at a time, however long the window. That is noise, and excluding such runs would
# select runs by their result.
SHORTEST_STALL_NS = 250_000_000
LEAST_OTHER = 1 / 10  # of the window: the pace outside a stall is taken over at least this long
MOST_PACE = 1 / 5  # of the worker's pace outside the stall

# In a stall over the fraction x of a window the pace is below MOST_PACE of the pace outside, so at
# most MOST_PACE / (MOST_PACE x + 1 - x) of the mean pace: 0.714 for x = 1 - LEAST_OTHER, less for
# any other x. So every stall contains a sub-window at least this slow.
SLOW = 0.72


def overlap(stack: Stack) -> Floats:
    """The largest share of the counted time in which all workers can have been busy together.

    It is the busy share of the worst worker. The counted time lies between a worker's own first and
    last tick. A worker is busy from the start of its traffic until it is stopped, except in the
    longest stall in between. Late ticks are no stall: a worker may be at work all the while. Shape:
    (runs,).
    """
    all_from = stack.busy_from.max(axis=1, keepdims=True)
    all_until = stack.busy_until.min(axis=1, keepdims=True)
    opened, closed = stack.time[..., 0], stack.time[..., -1]
    together = np.minimum(closed, all_until) - np.maximum(opened, all_from)
    stalled = np.zeros(opened.shape)
    suspects = _has_a_slow_stretch(stack)
    if suspects.any():
        stalled[suspects] = longest_stall(stack.part(suspects))
    busy = np.minimum(np.maximum(together, 0), closed - opened - stalled)
    return np.asarray((busy / (closed - opened)).min(axis=1))


def _has_a_slow_stretch(stack: Stack) -> Flags:
    """Whether a worker of a run was slow between two ticks; otherwise it cannot have stalled.

    Shape: (runs,). Looking for stalls costs more than all other figures of a run together.
    """
    mean = stack.done / over_window(stack.time)
    return np.asarray(~(stack.paces >= SLOW * mean[..., None]).all(axis=(1, 2)))


def longest_stall(stack: Stack) -> Floats:
    """For how long a worker did nothing in the worst stretch between two of its ticks, ns.

    Shape: runs × workers. A stretch is compared with the same worker's pace outside it; operations
    that were done in it count as time. One long operation is no stall: its CPU time goes on. A
    worker that finishes only a few operations looks like one that waits for them.
    """
    window = over_window(stack.time)[..., None]
    least = np.maximum(LEAST_STALL * window, SHORTEST_STALL_NS)
    longest = np.zeros(window.shape[:2])
    for first in range(stack.time.shape[-1] - 1):
        lasts = stack.time[..., first + 1 :] - stack.time[..., first, None]
        beside = lasts / np.maximum(window - lasts, LEAST_OTHER * window)
        done, due = _done_and_due(stack.operations, first, beside)
        stalled = (lasts > least) & (due >= MISSED) & (done < MOST_PACE * due)
        if stack.cpu is not None:
            used, usual = _done_and_due(stack.cpu, first, beside)
            stalled &= used < MOST_PACE * usual
        idle = np.where(stalled, lasts * (1 - done / due), 0)
        longest = np.maximum(longest, idle.max(axis=-1))
    return longest


def _done_and_due(counter: Integers, first: int, beside: Floats) -> tuple[Floats, Floats]:
    """The gain of a counter from tick `first` to each later one, and that at the pace outside.

    `beside` is how long each stretch is, in multiples of what lies outside it.
    """
    done = (counter[..., first + 1 :] - counter[..., first, None]).astype(np.float64)
    return done, (over_window(counter)[..., None] - done) * beside


BUSY = {
    "overlap": Column(
        read=from_ticks(overlap, of="windowed"),
        definition="share of the counted time in which all workers were busy, worst worker; not of "
        "finite runs",
        better="more",
    )
}


# ----------------------------------------------------------------------------------------- fairness
# The distribution of operations over the workers.


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


FAIRNESS = {
    "fairness": Column(
        read=from_ticks(lambda stack: jain(stack.rates, stack.rated), inside=True),
        definition="Jain's index of the workers' rates (operations ÷ own time, who only serves "
        "left out): 1 equal, 1/N one has all",
        better="more",
        shown=Shown("fairness", "fairness", 140),
    ),
    "fairness_min_max": Column(
        read=from_ticks(_slowest_over_fastest, inside=True),
        definition="slowest worker's rate ÷ fastest worker's",
        better="more",
    ),
    "idle_workers": Column(
        read=from_ticks(lambda stack: ((stack.done <= 0) & stack.rated).sum(axis=1, dtype=float)),
        definition="workers that finished no operation and do not only serve others",
        in_frame=False,
    ),
}


# ---------------------------------------------------------------------------------------------- lag
# When ticks ran, against when they were due: loop lag, and clocks that misbehave.


def _lag_s(stack: Stack) -> Floats:
    """Shape: runs × all ticks of all workers. A tick that ran early has no lag."""
    return np.maximum(stack.late_s, 0).reshape(len(stack.rows), -1)


def _early_s(stack: Stack) -> Floats:
    """The time by which the earliest tick ran early; of a finite run, the earliest release."""
    late_s = stack.late_s[..., :1] if stack.finite else stack.late_s
    return np.asarray(np.maximum(-late_s, 0).max(axis=(1, 2)))


LAG = {
    "lag_p50_s": Column(
        read=from_ticks(lambda stack: np.median(_lag_s(stack), axis=1), of="windowed", inside=True),
        definition="loop lag: how late a tick ran, median of all ticks; not of finite runs",
        better="less",
        shown=Shown("lag ms", "lag_p50_ms", 120, 1e3),
    ),
    "lag_max_s": Column(
        read=from_ticks(lambda stack: _lag_s(stack).max(axis=1), of="windowed", inside=True),
        definition="loop lag: the latest tick of any worker; not of finite runs",
        better="less",
        shown=Shown("worst lag ms", "lag_max_ms", 136, 1e3),
    ),
    "early_max_s": Column(
        read=from_ticks(_early_s),
        definition="how long before its instant the earliest tick ran",
        in_frame=False,
    ),
    "in_order": Column(
        read=from_ticks(lambda stack: (stack.steps > 0).all(axis=(1, 2)).astype(np.float64)),
        definition="1 where every worker's clock moved on from tick to tick, else 0",
        in_frame=False,
    ),
}
