"""Records as arrays: runs of the same shape, stacked, so that numpy works on many at a time."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from scaling.journal.record import Record, WorkerRecord

type Floats = npt.NDArray[np.float64]
type Integers = npt.NDArray[np.int64]
type Flags = npt.NDArray[np.bool_]

NS_PER_S = 1e9


@dataclass(frozen=True, slots=True)
class Stack:
    """Runs of one shape. Arrays are runs × workers × ticks, or runs × workers; ns and counts.

    `rows` are their places among the records that the stack was made from.
    """

    rows: list[int]
    finite: bool
    instant: Integers
    time: Integers
    operations: Integers
    errors: Integers
    bytes: Integers
    cpu: Integers | None
    minor_faults: Integers | None
    busy_from: Integers
    busy_until: Integers
    serves: Flags

    @property
    def rated(self) -> Flags:
        """The workers that are held against each other: not those that only serve, unless all do.

        Shape: runs × workers.
        """
        return ~self.serves | self.serves.all(axis=1, keepdims=True)

    def part(self, chosen: Flags) -> "Stack":
        """Those of the runs that are chosen; shape of `chosen`: (runs,)."""
        return Stack(
            rows=[row for row, kept in zip(self.rows, chosen, strict=True) if kept],
            finite=self.finite,
            instant=self.instant[chosen],
            time=self.time[chosen],
            operations=self.operations[chosen],
            errors=self.errors[chosen],
            bytes=self.bytes[chosen],
            cpu=None if self.cpu is None else self.cpu[chosen],
            minor_faults=None if self.minor_faults is None else self.minor_faults[chosen],
            busy_from=self.busy_from[chosen],
            busy_until=self.busy_until[chosen],
            serves=self.serves[chosen],
        )


@dataclass(frozen=True, slots=True)
class Shape:
    """What runs must have in common to be stacked."""

    finite: bool
    workers: int
    ticks: int
    cpu_known: bool
    faults_known: bool


def over_window(readings: Integers) -> Floats:
    """What a counter gained between the first and the last tick: runs × workers."""
    return (readings[..., -1] - readings[..., 0]).astype(np.float64)


def stacks(records: Sequence[Record | None]) -> Iterator[Stack]:
    """Records with usable ticks, together with those of the same shape; the others are left out."""
    shapes: dict[Shape, list[int]] = {}
    for row, record in enumerate(records):
        if record is not None and (shape := _shape(record)) is not None:
            shapes.setdefault(shape, []).append(row)
    for shape, rows in shapes.items():
        of_runs = [record.workers for row in rows if (record := records[row]) is not None]
        yield _stack(rows, list(chain.from_iterable(of_runs)), shape)


def _shape(record: Record) -> Shape | None:
    """The shape of a record's ticks, or None if they do not fit together."""
    every = [worker.ticks for worker in record.workers]
    count = len(every[0].time_ns) if every else 0
    if count < 2:
        return None
    lengths = {
        len(readings)
        for its in every
        for readings in (its.instant_ns, its.time_ns, its.operations, its.errors, its.bytes)
    }
    if lengths != {count}:
        return None
    return Shape(
        record.finite,
        len(every),
        count,
        all(_readable(its.cpu_ns, count) for its in every),
        all(_readable(its.minor_faults, count) for its in every),
    )


def _readable(readings: list[int | None] | None, ticks: int) -> bool:
    """Whether a reading that not every system gives is there at every tick."""
    return readings is not None and len(readings) == ticks and None not in readings


def _stack(rows: list[int], workers: list[WorkerRecord], shape: Shape) -> Stack:
    every = [worker.ticks for worker in workers]
    by_worker = (len(rows), shape.workers)

    def readings(lists: Iterable[list[int]]) -> Integers:
        flat = np.fromiter(chain.from_iterable(lists), np.int64, len(workers) * shape.ticks)
        return flat.reshape(*by_worker, shape.ticks)

    def instants(values: list[int | None]) -> Integers:
        return np.array([value or 0 for value in values], np.int64).reshape(by_worker)

    cpu: Iterable[list[int]] = (its.cpu_ns for its in every)  # type: ignore[misc]  # `_shape` saw
    faults: Iterable[list[int]] = (its.minor_faults for its in every)  # type: ignore[misc]
    return Stack(
        rows=rows,
        finite=shape.finite,
        instant=readings(its.instant_ns for its in every),
        time=readings(its.time_ns for its in every),
        operations=readings(its.operations for its in every),
        errors=readings(its.errors for its in every),
        bytes=readings(its.bytes for its in every),
        cpu=readings(cpu) if shape.cpu_known else None,
        minor_faults=readings(faults) if shape.faults_known else None,
        busy_from=instants([worker.busy_from_ns for worker in workers]),
        busy_until=instants([worker.busy_until_ns for worker in workers]),
        serves=np.array([worker.serves for worker in workers], np.bool_).reshape(by_worker),
    )
