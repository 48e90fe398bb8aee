"""Ticks as arrays: runs of the same shape, stacked, so that numpy works on many at a time.

The ticks of a run are packed into bytes as soon as it is decoded. As lists of Python integers they
take four times the memory, and reading twice the time: they would not stay in a core's cache.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from itertools import compress
from typing import Any, NamedTuple, Self

import numpy as np

from scaling.analysis.arrays import Flags, Floats, Integers
from scaling.journal.record import Record

NS_PER_S = 1e9

# What `_pack` lists: readings at every tick, what counters gained, and the rest.
SERIES, GAINS, SINGLES = 4, 3, 3


class Shape(NamedTuple):
    """The shape that runs must share to be stacked."""

    finite: bool
    outside: bool
    workers: int
    ticks: int
    faults_known: bool
    cpu_known: bool


class Readings(NamedTuple):
    """The ticks of one run as bytes: for each worker the 64-bit integers that `_pack` lists."""

    shape: Shape
    packed: bytes


@dataclass(frozen=True, eq=False)
class Stack:
    """Runs of one shape. Arrays are runs × workers × ticks, or runs × workers.

    `rows` are the places of the runs among those that the stack was made from; `finite` runs are
    those of a stated number of operations. Of commands, measured from `outside`, one worker stands
    for all. `instant` is when each tick was due, `time` when it ran, ns. `operations` count from
    the worker's start, `cpu` is its CPU time, ns. `errors`, bytes of `payload` and `minor_faults`
    are what came between its first and last tick. Its traffic started at `busy_from` and was
    stopped at `busy_until`; it `serves` if it only answers others. `cpu` is None, and
    `minor_faults` NaN, where a worker of the runs has none.
    """

    rows: list[int]
    finite: bool
    outside: bool
    instant: Integers
    time: Integers
    operations: Integers
    cpu: Integers | None
    errors: Floats
    payload: Floats
    minor_faults: Floats
    busy_from: Integers
    busy_until: Integers
    serves: Flags

    def part(self, chosen: Flags) -> Self:
        """The chosen runs alone; shape of `chosen`: (runs,)."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        arrays: dict[str, Any] = {
            name: value[chosen] for name, value in values.items() if isinstance(value, np.ndarray)
        }
        return replace(self, rows=list(compress(self.rows, chosen)), **arrays)

    @cached_property
    def rated(self) -> Flags:
        """The workers that are compared: not those that only serve, unless all do."""
        return np.asarray(~self.serves | self.serves.all(axis=1, keepdims=True))

    @cached_property
    def late_s(self) -> Floats:
        """The lateness of each tick."""
        return (self.time - self.instant) / NS_PER_S

    @cached_property
    def steps(self) -> Integers:
        """Time between neighbouring ticks, ns; shape runs × workers × (ticks - 1)."""
        return np.diff(self.time, axis=-1)

    @cached_property
    def paces(self) -> Floats:
        """Operations per ns between neighbouring ticks."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.diff(self.operations, axis=-1) / self.steps)

    @cached_property
    def window_s(self) -> Floats:
        """Time between a worker's first and last tick; shape runs × workers, as all that follow."""
        return over_window(self.time) / NS_PER_S

    @cached_property
    def own_s(self) -> Floats:
        """The time in which each worker did its operations: a finite run's begin at the release."""
        if not self.finite:
            return self.window_s
        released = self.instant[..., 0].min(axis=1, keepdims=True).astype(np.float64)
        return np.asarray((self.time[..., -1] - released) / NS_PER_S)

    @cached_property
    def counted_s(self) -> Floats:
        """The time that operations are divided by: of a finite run that until all are done.

        Work that is done in rounds is done when each of them is: the sum over rounds of the time
        from the release to the last finish.
        """
        if not self.finite:
            return self.window_s
        last = np.where(self.rated[..., None], self.rounds_s, -np.inf).max(axis=1).sum(axis=1)
        return np.broadcast_to(last[:, None], self.own_s.shape)

    @cached_property
    def rounds_s(self) -> Floats:
        """The time that each round of a finite run took; runs × workers × rounds.

        Work that is done at once is one round.
        """
        time = self.time.astype(np.float64)
        time[..., 0] = self.instant[..., 0].min(axis=1, keepdims=True)  # the release
        return np.asarray(np.diff(time, axis=-1) / NS_PER_S)

    @cached_property
    def done(self) -> Floats:
        """Operations of each worker between its first and last tick."""
        return over_window(self.operations)

    @cached_property
    def cpu_s(self) -> Floats:
        """CPU time of each worker in its window; NaN where it is not known."""
        if self.cpu is None:
            return np.full(self.done.shape, np.nan)
        return over_window(self.cpu) / NS_PER_S

    @cached_property
    def rates(self) -> Floats:
        """Operations of each worker per s of its own time."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.done / self.own_s)


def over_window(readings: Integers) -> Floats:
    """The gain of a counter between the first and the last tick: runs × workers."""
    return (readings[..., -1] - readings[..., 0]).astype(np.float64)


def stacks(runs: Iterable[Readings | None]) -> Iterator[Stack]:
    """Runs with usable ticks, together with those of the same shape; the others are left out."""
    shapes: dict[Shape, dict[int, bytes]] = {}
    for row, readings in enumerate(runs):
        if readings is not None:
            shapes.setdefault(readings.shape, {})[row] = readings.packed
    for shape, packed in shapes.items():
        numbers = np.frombuffer(b"".join(packed.values()), np.int64)
        yield _stack(shape, list(packed), numbers.reshape(len(packed), shape.workers, -1))


def _stack(shape: Shape, rows: list[int], numbers: Integers) -> Stack:
    """Runs from what `_pack` lists of them: runs × workers × numbers."""
    gained = SERIES * shape.ticks
    single = gained + GAINS
    instant, time, operations, cpu = np.split(numbers[..., :gained], SERIES, axis=-1)
    gains = numbers[..., gained:single].astype(np.float64)
    errors, payload, faults = np.moveaxis(gains, -1, 0)
    busy_from, busy_until, serves = np.moveaxis(numbers[..., single:], -1, 0)
    return Stack(
        rows=rows,
        finite=shape.finite,
        outside=shape.outside,
        instant=instant,
        time=time,
        operations=operations,
        cpu=cpu if shape.cpu_known else None,
        errors=errors,
        payload=payload,
        minor_faults=faults if shape.faults_known else np.full_like(faults, np.nan),
        busy_from=busy_from,
        busy_until=busy_until,
        serves=serves.astype(np.bool_),
    )


def readings(record: Record | None) -> Readings | None:
    """The ticks of a record; None without, and where they do not fit together."""
    shape = None if record is None else _shape(record)
    if record is None or shape is None:
        return None
    try:
        return Readings(shape, _pack(record, shape))
    except struct.error:  # None at a tick between the ends, or a number beyond 64 bits
        without_cpu = Shape(*shape[:-1], cpu_known=False)
    with suppress(struct.error):
        return Readings(without_cpu, _pack(record, without_cpu))
    return None


def _shape(record: Record) -> Shape | None:
    workers = record.workers
    count = len(workers[0].ticks.time_ns) if workers else 0
    if count < 2:
        return None
    cpu_known = faults_known = True
    for worker in workers:
        its = worker.ticks
        if (
            not len(its.instant_ns) == len(its.time_ns) == len(its.operations) == count
            or not len(its.errors) == len(its.bytes) == count
        ):
            return None
        cpu_known = cpu_known and _known(its.cpu_ns, count)
        faults_known = faults_known and _known(its.minor_faults, count)
    outside = record.outside is not None
    return Shape(record.finite, outside, len(workers), count, faults_known, cpu_known)


def _known(readings: Sequence[int | None] | None, ticks: int) -> bool:
    """Whether a reading that not every system gives is there at the first and last tick."""
    return (
        readings is not None
        and len(readings) == ticks
        and readings[0] is not None
        and readings[-1] is not None
    )


@cache
def _integers(count: int) -> struct.Struct:
    return struct.Struct(f"{count}q")


def _pack(record: Record, shape: Shape) -> bytes:
    """All that figures need, in one call for each worker; 0 in the place of what is not known."""
    numbers = _integers(SERIES * shape.ticks + GAINS + SINGLES)
    nothing = [0] * shape.ticks
    packed = []
    for worker in record.workers:
        its = worker.ticks
        cpu = its.cpu_ns if shape.cpu_known and its.cpu_ns else nothing
        faults = its.minor_faults if shape.faults_known and its.minor_faults else nothing
        packed.append(
            numbers.pack(
                *its.instant_ns,
                *its.time_ns,
                *its.operations,
                *cpu,
                its.errors[-1] - its.errors[0],
                its.bytes[-1] - its.bytes[0],
                (faults[-1] or 0) - (faults[0] or 0),
                worker.busy_from_ns or 0,
                worker.busy_until_ns or 0,
                worker.serves,
            )
        )
    return b"".join(packed)
