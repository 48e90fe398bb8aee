"""Ticks as arrays: runs of the same shape, stacked, so that numpy works on many at a time.

The ticks of a run are packed into bytes as soon as it is decoded. As lists of Python integers they
take four times the memory, and reading twice the time: they would not stay in a core's cache.
"""

import struct
from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property
from itertools import compress
from operator import attrgetter
from typing import NamedTuple, Self

import numpy as np

from scaling.analysis.arrays import Flags, Floats, Integers
from scaling.journal.record import Record

NS_PER_S = 1e9

# What `_pack` lists: readings at every tick, counters of which the ends are enough, and the rest.
SERIES, COUNTERS, SINGLES = 4, 3, 3

# The lists that every worker has, each with a value for every tick.
NEEDED = ("instant_ns", "time_ns", "operations", "errors", "bytes")
_needed = attrgetter(*NEEDED)


class Shape(NamedTuple):
    """What runs must have in common to be stacked."""

    finite: bool
    workers: int
    ticks: int
    cpu_known: bool
    faults_known: bool
    outside: bool

    def without_cpu(self) -> Self:
        """The same with CPU time that is not known."""
        return self._replace(cpu_known=False)


class Readings(NamedTuple):
    """The ticks of one run as bytes: for each worker the 64-bit integers that `_pack` lists."""

    shape: Shape
    packed: bytes


class Stack:
    """Runs of one shape. Arrays are runs × workers × ticks, or runs × workers.

    `rows` are the places of the runs among those that the stack was made from.
    """

    def __init__(self, shape: Shape, rows: list[int], numbers: Integers) -> None:
        self.shape = shape
        self.rows = rows
        self._numbers = numbers  # runs × workers × what `_pack` lists

    @property
    def finite(self) -> bool:
        """Whether these are runs of a stated number of operations."""
        return self.shape.finite

    def part(self, chosen: Flags) -> "Stack":
        """The chosen runs alone; shape of `chosen`: (runs,)."""
        return Stack(self.shape, list(compress(self.rows, chosen)), self._numbers[chosen])

    @property
    def outside(self) -> bool:
        """Whether these are runs of a command: one worker stands for all that it has."""
        return self.shape.outside

    @property
    def instant(self) -> Integers:
        """When each tick was due, ns."""
        return self._series(0)

    @property
    def time(self) -> Integers:
        """When each tick ran, ns."""
        return self._series(1)

    @property
    def operations(self) -> Integers:
        """Operations since the worker began, at each tick."""
        return self._series(2)

    @property
    def cpu(self) -> Integers | None:
        """CPU time of the worker at each tick, ns; None where a worker of the runs has none."""
        return self._series(3) if self.shape.cpu_known else None

    @property
    def errors(self) -> Floats:
        """Operations that went wrong between a worker's first and last tick; runs × workers."""
        return self._gained(0)

    @property
    def bytes(self) -> Floats:
        """Payload moved in that time."""
        return self._gained(1)

    @property
    def minor_faults(self) -> Floats | None:
        """Pages fetched in that time; None where a worker of the runs does not know it."""
        return self._gained(2) if self.shape.faults_known else None

    @property
    def busy_from(self) -> Integers:
        """When each worker's traffic started, ns."""
        return self._single(0)

    @property
    def busy_until(self) -> Integers:
        """When each worker was stopped, ns."""
        return self._single(1)

    @cached_property
    def rated(self) -> Flags:
        """The workers that are compared: not those that only serve, unless all do."""
        serves = self._single(2).astype(np.bool_)
        return np.asarray(~serves | serves.all(axis=1, keepdims=True))

    @cached_property
    def late_s(self) -> Floats:
        """How late each tick ran."""
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
        """Of a finite run how long each round took each worker; runs × workers × rounds.

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
    def rates(self) -> Floats:
        """Operations of each worker per s of its own time."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.done / self.own_s)

    def _series(self, place: int) -> Integers:
        ticks = self.shape.ticks
        return self._numbers[..., place * ticks : (place + 1) * ticks]

    def _gained(self, place: int) -> Floats:
        first = SERIES * self.shape.ticks + 2 * place
        return over_window(self._numbers[..., first : first + 2])

    def _single(self, place: int) -> Integers:
        return self._numbers[..., SERIES * self.shape.ticks + 2 * COUNTERS + place]


def over_window(readings: Integers) -> Floats:
    """What a counter gained between the first and the last tick: runs × workers."""
    return (readings[..., -1] - readings[..., 0]).astype(np.float64)


def stacks(runs: Iterable[Readings | None]) -> Iterator[Stack]:
    """Runs with usable ticks, together with those of the same shape; the others are left out."""
    shapes: dict[Shape, tuple[list[int], list[bytes]]] = {}
    for row, readings in enumerate(runs):
        if readings is not None:
            rows, packed = shapes.setdefault(readings.shape, ([], []))
            rows.append(row)
            packed.append(readings.packed)
    for shape, (rows, packed) in shapes.items():
        numbers = np.frombuffer(b"".join(packed), np.int64)
        yield Stack(shape, rows, numbers.reshape(len(rows), shape.workers, -1))


def readings(record: Record | None) -> Readings | None:
    """The ticks of a record; None without, and where they do not fit together."""
    shape = None if record is None else _shape(record)
    if record is None or shape is None:
        return None
    try:
        return _pack(record, shape)
    except struct.error:  # None at a tick between the ends, or a number beyond 64 bits
        try:
            return _pack(record, shape.without_cpu())
        except struct.error:
            return None


def _shape(record: Record) -> Shape | None:
    workers = record.workers
    count = len(workers[0].ticks.time_ns) if workers else 0
    if count < 2:
        return None
    even = [count] * len(NEEDED)
    cpu_known = faults_known = True
    for worker in workers:
        its = worker.ticks
        if [*map(len, _needed(its))] != even:
            return None
        cpu_known = cpu_known and _known(its.cpu_ns, count)
        faults_known = faults_known and _known(its.minor_faults, count)
    outside = record.outside is not None
    return Shape(record.finite, len(workers), count, cpu_known, faults_known, outside)


def _known(readings: list[int | None] | None, ticks: int) -> bool:
    """Whether a reading that not every system gives is there at the first and last tick."""
    return (
        readings is not None
        and len(readings) == ticks
        and readings[0] is not None
        and readings[-1] is not None
    )


def _pack(record: Record, shape: Shape) -> Readings:
    """All that figures need, in one call for each worker; 0 in the place of what is not known."""
    pack = _packer(SERIES * shape.ticks + 2 * COUNTERS + SINGLES)
    nothing = [0] * shape.ticks
    packed = []
    for worker in record.workers:
        its = worker.ticks
        instants, times, operations, errors, payload = _needed(its)
        cpu = its.cpu_ns if shape.cpu_known and its.cpu_ns else nothing
        faults = its.minor_faults if shape.faults_known and its.minor_faults else nothing
        packed.append(
            pack(
                *instants,
                *times,
                *operations,
                *cpu,
                errors[0],
                errors[-1],
                payload[0],
                payload[-1],
                faults[0],
                faults[-1],
                worker.busy_from_ns or 0,
                worker.busy_until_ns or 0,
                worker.serves,
            )
        )
    return Readings(shape, b"".join(packed))


@cache
def _packer(numbers: int) -> Callable[..., bytes]:
    return struct.Struct(f"{numbers}q").pack
