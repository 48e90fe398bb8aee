"""Ticks as arrays: runs of the same shape, stacked, so that numpy works on many at a time.

Ticks are nearly all of a journal, so they are parsed from its text, many runs at once: to make
Python integers of them first takes twice the time and four times the memory.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple, Self
from warnings import catch_warnings

import msgspec
import numpy as np

from scaling.analysis.arrays import Flags, Floats, Integers
from scaling.journal.record import Record, Ticks

NS_PER_S = 1e9


class Shape(NamedTuple):
    """The shape that runs must share to be stacked."""

    finite: bool
    outside: bool
    workers: int
    ticks: int
    faults_known: bool = True
    cpu_known: bool = True


class Readings(NamedTuple):
    """The ticks of one run: the text of each worker's, and when its traffic began and ended and
    whether it only serves others, as integers, one worker after the other.
    """

    shape: Shape
    ticks: Sequence[bytes]
    traffic: Sequence[int]


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

    rows: Integers
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
        return replace(self, **arrays)

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
    """Runs whose ticks fit together, with those of the same shape; the others are left out."""
    misfits: dict[int, Readings] = {}
    yield from _stacked(enumerate(runs), misfits)
    again = [(row, _by_value(each)) for row, each in misfits.items()]
    misfits.clear()
    yield from _stacked(again, misfits)
    for row, each in list(misfits.items()):
        yield from _stacked([(row, each)], {})


def _stacked(
    runs: Iterable[tuple[int, Readings | None]], misfits: dict[int, Readings]
) -> Iterator[Stack]:
    """The same of numbered runs; `misfits` are all of a shape where any text is not usual."""
    shapes: dict[Shape, dict[int, Readings]] = {}
    for row, readings in runs:
        if readings is not None:
            shapes.setdefault(readings.shape, {})[row] = readings
    for shape, some in shapes.items():
        numbers = _parsed(shape, some.values())
        if numbers is None:
            misfits |= some
        else:
            traffic = np.array([each.traffic for each in some.values()], np.int64)
            rows = np.array(list(some))
            yield _stack(shape, rows, numbers, traffic.reshape(*numbers.shape[:2], -1))


def _stack(shape: Shape, rows: Integers, numbers: Integers, traffic: Integers) -> Stack:
    """Runs by their ticks, runs × workers × series × ticks, and the traffic of their workers."""
    instant, time, operations, errors, payload, cpu, faults = np.moveaxis(numbers, 2, 0)
    busy_from, busy_until, serves = np.moveaxis(traffic, -1, 0)
    return Stack(
        rows=rows,
        finite=shape.finite,
        outside=shape.outside,
        instant=instant,
        time=time,
        operations=operations,
        cpu=cpu if shape.cpu_known else None,
        errors=over_window(errors),
        payload=over_window(payload),
        minor_faults=over_window(faults) if shape.faults_known else np.full(serves.shape, np.nan),
        busy_from=busy_from,
        busy_until=busy_until,
        serves=serves.astype(np.bool_),
    )


# -------------------------------------------------------------------------------------------- text
# Text to integers. Names and brackets are compared with those of the usual text and left out; -1,
# which is no reading, stands before the ticks of each series: `"time_ns":[3,5],"bytes":[7,9]`
# becomes `-1,3,5,-1,7,9`. Where each -1 is in its place, the series have equal numbers of ticks.

SERIES = ("instant_ns", "time_ns", "operations", "errors", "bytes", "cpu_ns", "minor_faults")
NAMES = "".join(f'"{name}":[]' for name in SERIES).encode()  # of a worker, without its numbers
OF_NUMBERS = b"0123456789,- "
OF_NAMES = bytes({*NAMES} - {*b"["})
BEYOND = np.iinfo(np.int64).max  # what a number that has more bits is parsed as


def readings(record: Record | None, ticks: Sequence[bytes] = ()) -> Readings | None:
    """The ticks of a record; None without, and where there are fewer than two.

    `ticks` are those of each worker as text, where the record has none
    (`scaling.journal.record.SplitRun`).
    """
    if record is None or not record.workers:
        return None
    traffic = [
        number
        for worker in record.workers
        for number in (worker.busy_from_ns or 0, worker.busy_until_ns or 0, worker.serves)
    ]
    is_text = len(ticks) == len(record.workers)
    count = ticks[0].count(b",", 0, ticks[0].find(b"]")) + 1 if is_text else 0
    shape = Shape(record.finite, record.outside is not None, len(record.workers), count)
    if not is_text:
        return _of_ticks(shape, traffic, [worker.ticks for worker in record.workers])
    return Readings(shape, ticks, traffic) if count > 1 else None


def _by_value(each: Readings) -> Readings | None:
    """The same of ticks that are in another order, or have readings that are not known."""
    try:
        ticks = [msgspec.json.decode(b"{%b}" % text, type=Ticks) for text in each.ticks]
    except msgspec.DecodeError:
        return None
    return _of_ticks(each.shape, each.traffic, ticks)


def _of_ticks(shape: Shape, traffic: Sequence[int], every: Sequence[Ticks]) -> Readings | None:
    count = len(every[0].instant_ns)
    cpu_known = all(each.cpu_ns and None not in each.cpu_ns for each in every)
    faults = [each.minor_faults or [None] for each in every]
    faults_known = all(None not in (each[0], each[-1]) for each in faults)
    shape = Shape(*shape[:3], count, faults_known, cpu_known)
    texts = []
    for ticks in every:
        known: dict[str, Sequence[int | None]] = {name: getattr(ticks, name) for name in SERIES}
        if not cpu_known:
            known["cpu_ns"] = [0] * count
        known["minor_faults"] = [each or 0 for each in ticks.minor_faults or [0] * count]
        texts.append(",".join(f'"{name}":{series}' for name, series in known.items()).encode())
    return Readings(shape, texts, traffic) if count > 1 else None


def _parsed(shape: Shape, runs: Collection[Readings]) -> Integers | None:
    """Runs × workers × series × ticks; None where the text of any run is not usual."""
    text = b",".join([text for each in runs for text in each.ticks])
    if text.translate(None, OF_NUMBERS) != NAMES * (len(runs) * shape.workers):
        return None
    numbers_alone = text.translate(None, OF_NAMES).replace(b"[", b"-1,")
    with catch_warnings(action="ignore", category=DeprecationWarning):  # of what is no integer
        try:
            found = np.fromstring(numbers_alone, np.int64, sep=",")
        except ValueError:
            return None
    size = len(runs) * shape.workers * len(SERIES) * (shape.ticks + 1)
    if len(found) != size or found.max() == BEYOND:
        return None
    numbers: Integers = found.reshape(len(runs), shape.workers, len(SERIES), -1)
    return numbers[..., 1:] if (numbers[..., 0] == -1).all() else None
