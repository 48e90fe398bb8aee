"""From ticks to figures: throughput, lag, fairness, overlap, CPU and steadiness of every run.

A tick is the one data structure that workers hand in, and all that is known of a window comes from
here. Runs of the same shape (workers × ticks) are stacked and worked on together, since a large
journal holds a hundred thousand of them. Times go in as ns and come out as s.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scaling.journal.record import Record, WorkerRecord

type Floats = npt.NDArray[np.float64]
type Integers = npt.NDArray[np.int64]

NS_PER_S = 1e9
LEVEL_PART = 4  # the last quarter of a window is held against what came before it
FEWEST_SUB_WINDOWS = 8  # below that a quarter has one sub-window, and says nothing of its noise
# A worker stalls where it does next to nothing, in operations and in CPU time, for long. What
# waits for I/O or for its turn at the GIL goes on doing a little all the time.
LEAST_STALL = 1 / 4  # of the window; shorter pauses are a machine's or a page's, and even out
LEAST_OTHER = 1 / 10  # of the window: what the pace is known from is no burst
MOST_PACE = 1 / 5  # of the worker's pace outside the stall
MISSED = 20.0  # operations at that pace; chance leaves out 17 of 20 in 3 of a million (Poisson)

FIGURES = (
    "throughput_per_s",
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
    "drift",
    "drift_error",
    "in_order",
)


@dataclass(frozen=True, slots=True)
class Stack:
    """Runs of one shape. Arrays are runs × workers × ticks, or runs × workers; ns and counts."""

    rows: list[int]
    instant: Integers
    time: Integers
    operations: Integers
    errors: Integers
    bytes: Integers
    cpu: Integers | None
    minor_faults: Integers | None
    busy_from: Integers
    busy_until: Integers


def measure(records: Sequence[Record | None]) -> dict[str, Floats]:
    """Every figure of `FIGURES` for every record, in the order given.

    Shape: (len(records),) each. NaN where there is nothing to measure: no record, no ticks, ticks
    of unequal number, or a reading that the system does not give.
    """
    figures = {name: np.full(len(records), np.nan) for name in FIGURES}
    for stack in _stacks(records):
        for name, values in _figures(stack).items():
            figures[name][stack.rows] = values
    return figures


def jain(rates: Floats) -> Floats:
    """Jain's fairness index over the last axis: 1 when all are equal, 1/n when one has all.

    (Σx)² / (n Σx²): R. Jain, D. Chiu, W. Hawe, DEC-TR-301 (1984). NaN when nothing was done.
    """
    with np.errstate(invalid="ignore"):
        return np.asarray(
            rates.sum(axis=-1) ** 2 / (rates.shape[-1] * np.square(rates).sum(axis=-1))
        )


def _stacks(records: Sequence[Record | None]) -> list[Stack]:
    """Runs with usable ticks, together with those of the same shape."""
    shapes: dict[tuple[int, int, bool, bool], list[int]] = {}
    for row, record in enumerate(records):
        if record is not None and (shape := _shape(record.workers)) is not None:
            shapes.setdefault(shape, []).append(row)
    return [_stack(rows, records, shape) for shape, rows in shapes.items()]


def _shape(workers: list[WorkerRecord]) -> tuple[int, int, bool, bool] | None:
    """(workers, ticks, CPU known, faults known), or None if their ticks do not fit together."""
    if not workers:
        return None
    ticks = len(workers[0].ticks.time_ns)
    for worker in workers:
        its = worker.ticks
        lists = (its.instant_ns, its.time_ns, its.operations, its.errors, its.bytes)
        if ticks < 2 or any(len(readings) != ticks for readings in lists):
            return None
    cpu = all(_readable(worker.ticks.cpu_ns, ticks) for worker in workers)
    faults = all(_readable(worker.ticks.minor_faults, ticks) for worker in workers)
    return len(workers), ticks, cpu, faults


def _readable(readings: list[int | None] | None, ticks: int) -> bool:
    """Whether a reading that not every system gives is there at every tick."""
    return readings is not None and len(readings) == ticks and None not in readings


def _stack(
    rows: list[int], records: Sequence[Record | None], shape: tuple[int, int, bool, bool]
) -> Stack:
    runs = [record.workers for row in rows if (record := records[row]) is not None]
    workers, ticks, cpu, faults = shape

    def readings(name: str) -> Integers:
        flat = [getattr(worker.ticks, name) for run in runs for worker in run]
        return np.array(flat, dtype=np.int64).reshape(len(runs), workers, ticks)

    def instants(name: str) -> Integers:
        return np.array([[getattr(worker, name) or 0 for worker in run] for run in runs], np.int64)

    return Stack(
        rows=rows,
        instant=readings("instant_ns"),
        time=readings("time_ns"),
        operations=readings("operations"),
        errors=readings("errors"),
        bytes=readings("bytes"),
        cpu=readings("cpu_ns") if cpu else None,
        minor_faults=readings("minor_faults") if faults else None,
        busy_from=instants("busy_from_ns"),
        busy_until=instants("busy_until_ns"),
    )


def _over_window(readings: Integers) -> Floats:
    """What a counter gained between the first and the last tick: runs × workers."""
    return (readings[..., -1] - readings[..., 0]).astype(np.float64)


def _figures(stack: Stack) -> dict[str, Floats]:
    with np.errstate(divide="ignore", invalid="ignore"):
        window_s = _over_window(stack.time) / NS_PER_S
        done = _over_window(stack.operations)
        rates = done / window_s
        operations = done.sum(axis=1)
        late_s = (stack.time - stack.instant) / NS_PER_S
        late_by_run = late_s.reshape(len(stack.rows), -1)
        figures = {
            "throughput_per_s": rates.sum(axis=1),
            "operations": operations,
            "errors": _over_window(stack.errors).sum(axis=1),
            "bytes_per_s": (_over_window(stack.bytes) / window_s).sum(axis=1),
            "window_s": window_s.mean(axis=1),
            "lag_p50_s": np.median(np.maximum(late_by_run, 0), axis=1),
            "lag_max_s": np.maximum(late_by_run, 0).max(axis=1),
            "early_max_s": np.maximum(-late_by_run, 0).max(axis=1),
            "fairness": jain(rates),
            "fairness_min_max": rates.min(axis=1) / rates.max(axis=1),
            "idle_workers": (done <= 0).sum(axis=1).astype(np.float64),
            "overlap": _overlap(stack),
            "in_order": _in_order(stack),
        }
        if stack.cpu is not None:
            cpu_s = _over_window(stack.cpu) / NS_PER_S
            figures["cpu_s_per_op"] = _per_operation(cpu_s.sum(axis=1), operations)
            figures["cpu_busy"] = (cpu_s / window_s).sum(axis=1)
        if stack.minor_faults is not None:
            faults = _over_window(stack.minor_faults).sum(axis=1)
            figures["minor_faults_per_op"] = _per_operation(faults, operations)
        figures["drift"], figures["drift_error"] = _drift(stack)
    return figures


def _per_operation(amount: Floats, operations: Floats) -> Floats:
    return np.where(operations > 0, amount / operations, np.nan)


def _overlap(stack: Stack) -> Floats:
    """The share of the counted time in which all workers were busy, at most; the worst worker's.

    Counted is what lies between a worker's own first and last tick. Busy is a worker from the
    start of its traffic until it is told to stop, but for the longest stall in between. Ticks
    that come late are no stall: a worker may be at work all the while.
    """
    all_from = stack.busy_from.max(axis=1, keepdims=True)
    all_until = stack.busy_until.min(axis=1, keepdims=True)
    opened, closed = stack.time[..., 0], stack.time[..., -1]
    together = np.minimum(closed, all_until) - np.maximum(opened, all_from)
    busy = np.minimum(np.maximum(together, 0), closed - opened - _longest_stall(stack))
    return np.asarray((busy / (closed - opened)).min(axis=1))


def _longest_stall(stack: Stack) -> Floats:
    """For how long a worker did nothing in the worst stretch between two of its ticks, ns.

    Shape: runs × workers. A stretch is held against the same worker's pace outside it; what was
    done in it all the same counts as time. One long operation is no stall: its CPU time goes on;
    and a worker that finishes but a few operations cannot be told from one that waits for them.
    """
    window = _over_window(stack.time)[..., None]
    longest = np.zeros(window.shape[:2])
    for first in range(stack.time.shape[-1] - 1):
        lasts = stack.time[..., first + 1 :] - stack.time[..., first, None]
        beside = lasts / np.maximum(window - lasts, LEAST_OTHER * window)
        done, due = _done_and_due(stack.operations, first, beside)
        stalled = (lasts > LEAST_STALL * window) & (due >= MISSED) & (done < MOST_PACE * due)
        if stack.cpu is not None:
            used, usual = _done_and_due(stack.cpu, first, beside)
            stalled &= used < MOST_PACE * usual
        idle = np.where(stalled, lasts * (1 - done / due), 0)
        longest = np.maximum(longest, idle.max(axis=-1))
    return longest


def _done_and_due(counter: Integers, first: int, beside: Floats) -> tuple[Floats, Floats]:
    """What a counter gained from tick `first` to each later one; what the pace outside asks for.

    `beside` is how long each stretch is, in multiples of what lies outside it.
    """
    done = (counter[..., first + 1 :] - counter[..., first, None]).astype(np.float64)
    return done, (_over_window(counter)[..., None] - done) * beside


def _in_order(stack: Stack) -> Floats:
    """1 where every worker's clock moved on from tick to tick, else 0."""
    return np.asarray((np.diff(stack.time, axis=-1) > 0).all(axis=(1, 2)), dtype=np.float64)


def _drift(stack: Stack) -> tuple[Floats, Floats]:
    """How far the last quarter of a window lies above the rest, a fraction; its standard error.

    The error comes from the scatter of the sub-windows inside each part, pooled, so a noisy
    workload does not look like a drifting one.
    """
    rates = (np.diff(stack.operations, axis=-1) / np.diff(stack.time, axis=-1)).sum(axis=1)
    count = rates.shape[-1]
    if count < FEWEST_SUB_WINDOWS:
        nothing = np.full(len(stack.rows), np.nan)
        return nothing, nothing
    last = count // LEVEL_PART
    before, after = rates[:, :-last], rates[:, -last:]
    level = before.mean(axis=1)
    within = before.var(axis=1) * before.shape[1] + after.var(axis=1) * after.shape[1]
    variance = within / (count - 2) * (1 / before.shape[1] + 1 / after.shape[1])
    return after.mean(axis=1) / level - 1, np.sqrt(variance) / level
