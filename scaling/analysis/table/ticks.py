"""What follows from the first and last tick of every worker: throughput, and what it cost.

The window of a finite run is its release to its finish. That some workers of it finish before
others is part of the result: its throughput is that of all until the last is done.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.table.column import Column, Read, Shown, SomeRuns
from scaling.analysis.table.process_cpu import process_cpu_s
from scaling.analysis.table.stacks import NS_PER_S, Stack, over_window, readings, stacks
from scaling.journal.record import Record

type Figure = Callable[[Stack], Floats | None]


def from_ticks(
    figure: Figure, of: Literal["windowed", "finite"] | None = None, *, inside: bool = False
) -> Read:
    """Read a figure of the runs' ticks; of runs with a window only, or of finite ones only.

    `inside`: only the workers themselves know it, so commands that were measured from outside have
    none. `figure` has one value for each run of a stack, or is None where the readings are missing.
    NaN is the value of runs of the other kind, without a record, or with ticks that do not fit.
    """

    def read(rows: SomeRuns) -> Floats:
        known = [each for each in rows.stacks if not (inside and each.outside)]
        return _read(figure, known, len(rows.runs), of)

    return read


def throughputs(records: Sequence[Record | None]) -> Floats:
    """Operations per s of each record, NaN where that is not known."""
    return _read(_throughput, stacks(map(readings, records)), len(records))


def _read(figure: Figure, every: Iterable[Stack], count: int, of: str | None = None) -> Floats:
    found = np.full(count, np.nan)
    for stack in every:
        if of is None or (of == "finite") is stack.finite:
            with np.errstate(divide="ignore", invalid="ignore"):
                values = figure(stack)
            if values is not None:
                found[stack.rows] = values
    return found


def _throughput(stack: Stack) -> Floats:
    return np.asarray((stack.done / stack.counted_s).sum(axis=1))


def _finish_gap(stack: Stack) -> Floats:
    """Which part of the time to finish the first worker was already done."""
    first = np.where(stack.rated, stack.own_s, np.inf).min(axis=1)
    return np.asarray(1 - first / stack.counted_s[:, 0])


def _payload_per_s(rows: SomeRuns) -> Floats:
    moved = from_ticks(lambda stack: (stack.bytes / stack.counted_s).sum(axis=1), inside=True)
    served = np.array([run.load is not None for run in rows.runs], dtype=bool)
    per_s = np.asarray(moved(rows))
    return np.where(served & (per_s == 0), np.nan, per_s)


def _cpu_s(stack: Stack) -> Floats | None:
    return None if stack.cpu is None else over_window(stack.cpu) / NS_PER_S


def _cpu_per_operation(stack: Stack) -> Floats | None:
    cpu_s = _cpu_s(stack)
    return None if cpu_s is None else _per_operation(cpu_s, stack)


def _cost_per_operation(rows: SomeRuns) -> Floats:
    """Of served runs with all threads of their processes, as commands have it: a pool's, too."""
    found = from_ticks(_cpu_per_operation)(rows)
    whole_s = np.array([np.nan if run.load is None else process_cpu_s(run) for run in rows.runs])
    operations = np.asarray(rows["operations"], np.float64)
    known = np.isfinite(whole_s) & (operations > 0)
    return np.where(known, whole_s / np.where(known, operations, 1.0), found)


def _cpu_busy(stack: Stack) -> Floats | None:
    cpu_s = _cpu_s(stack)
    return None if cpu_s is None else np.asarray((cpu_s / stack.counted_s).sum(axis=1))


def _faults_per_operation(stack: Stack) -> Floats | None:
    faults = stack.minor_faults
    return None if faults is None else _per_operation(faults, stack)


def _per_operation(amount: Floats, stack: Stack) -> Floats:
    operations = stack.done.sum(axis=1)
    return np.where(operations > 0, amount.sum(axis=1) / operations, np.nan)


COUNTED = {
    "throughput_per_s": Column(
        read=from_ticks(_throughput),
        unit="operations/s",
        definition="sum over workers of operations between first and last tick ÷ time; finite: "
        "operations of all workers ÷ `finish_s`",
        words="throughput",
        better="more",
        shown=Shown(
            heading="{operation}/s", name="throughput_per_s", place=0, always=True, swept=True
        ),
    ),
    "finish_s": Column(
        read=from_ticks(lambda stack: stack.counted_s[:, 0], of="finite"),
        unit="s",
        definition="finite only: release of all workers to the last one's finish",
        words="time to finish",
        better="less",
        shown=Shown(heading="finish s", name="finish_s", place=10),
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
        unit="B/s",
        definition="payload moved inside the window ÷ time, all workers; a server does not count "
        "it",
        better="more",
    ),
    "window_s": Column(
        read=from_ticks(lambda stack: stack.window_s.mean(axis=1)),
        unit="s",
        definition="time between first and last tick, mean of the workers",
    ),
    "cpu_s_per_op": Column(
        read=_cost_per_operation,
        unit="s",
        definition="CPU time of the workers' threads (of a served run: of all threads of their "
        "processes; of a command: of all its processes) ÷ operations",
        words="CPU time per operation",
        better="less",
        noise="cpu_s_per_op",
        shown=Shown(heading="CPU µs/op", name="cpu_us_per_op", factor=1e6, place=40, always=True),
    ),
    "cpu_busy": Column(
        read=from_ticks(_cpu_busy),
        definition="CPU s per s, summed over workers: cores in use",
        words="cores in use",
    ),
}

FAULTS = {
    "minor_faults_per_op": Column(
        read=from_ticks(_faults_per_operation),
        definition="pages fetched from the kernel ÷ operations",
        better="less",
    ),
}
