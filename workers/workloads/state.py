"""Read-mostly state, as programs keep it in memory: made once, then read by key on every loop.

It is made before there are workers, as applications do when they are imported: threads read objects
that the main thread made, forked processes share the pages that they were made in until a reference
count is written there, and a fresh process makes its own.
"""

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

from workers import Worker, Workload, parameter
from workers.cell import Cell
from workers.worker.shared import once_per_process
from workers.worker.workload import Holds
from workers.workloads.parts.work import call_back

NAME = "item {:011}"  # of one length, so that the sum of what was read is known


@dataclass
class OnState(Workload):
    """Base of the workloads that read a state: what it is made of, and by whom."""

    holds: ClassVar[Holds | None] = None  # below, once the kinds are known

    kind: Literal["dicts", "dataclasses", "slots", "tuples", "strings", "array", "frame"] = (
        parameter("dicts", "what an object is; of array and frame, a row of numbers in columns")
    )
    objects: int = parameter(100_000, "how many objects there are", at_least=1)
    made_by: Literal["process", "loop"] = parameter(
        "process", "who makes them: each process before its workers, or each loop for itself"
    )
    deferred: bool = parameter(False, "ask CPython to defer the reference counts of the objects")

    def __post_init__(self) -> None:
        """Begin without a state: a description loads every choice, and must not make them all."""
        super().__post_init__()
        self.is_placed = False

    def placed(self, cell: Cell, index: int | None) -> None:
        """Let `load` make the state: it is called before there are workers."""
        self.is_placed = True

    def load(self) -> None:
        """Import what the kind needs; make the state, unless each loop makes its own."""
        if self.kind == "frame":
            _pandas()
        if self.is_placed and self.made_by == "process":
            self._made()

    def facts(self) -> dict[str, str]:
        """The kind of objects, who made them, and whether their reference counts are deferred."""
        counts = {"reference_counts": "deferred"} if self.deferred else {}
        return {"kind": self.kind, "made_by": self.made_by, **counts}

    def state(self) -> Any:
        """The objects of this worker: its process's, or new ones of its own."""
        return self._made() if self.made_by == "process" else self._make()

    def _made(self) -> Any:
        return once_per_process((self.kind, self.objects, self.deferred), self._make)

    def _make(self) -> Any:
        objects = KINDS[self.kind].make(self.objects)
        if self.deferred:
            _defer(objects)
        return objects


# ------------------------------------------------------------------------------ kinds of objects


@dataclass
class Item:
    """An object as most programs have it: with a dict of its own if someone asks for that."""

    id: int
    name: str
    price: float


@dataclass(slots=True)
class SlottedItem:
    """The same with slots."""

    id: int
    name: str
    price: float


class Columns(NamedTuple):
    """Rows of numbers, a column for each field: no objects, and so no reference counts."""

    id: "array[int]"
    price: "array[float]"


def _dicts(count: int) -> list[dict[str, Any]]:
    return [{"id": key, "name": NAME.format(key), "price": key / 4} for key in range(count)]


def _columns(count: int) -> Columns:
    return Columns(array("q", range(count)), array("d", (key / 4 for key in range(count))))


def _frame(count: int) -> Any:
    ids, prices = _columns(count)
    return _pandas().DataFrame({"id": ids, "price": prices})


def _pandas() -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(f"{error}; add --with pandas") from None
    return pd


def _read_key(objects: list[dict[str, Any]], keys: Iterable[int]) -> int:
    total = 0
    for key in keys:
        total += objects[key]["id"]
    return total


def _read_attribute(objects: list[Any], keys: Iterable[int]) -> int:
    total = 0
    for key in keys:
        total += objects[key].id
    return total


def _read_first(objects: list[tuple[int, str, float]], keys: Iterable[int]) -> int:
    total = 0
    for key in keys:
        total += objects[key][0]
    return total


def _read_length(objects: list[str], keys: Iterable[int]) -> int:
    total = 0
    for key in keys:
        total += len(objects[key])
    return total


def _read_column(objects: Columns, keys: Iterable[int]) -> int:
    total, column = 0, objects.id
    for key in keys:
        total += column[key]
    return total


def _read_cell(objects: Any, keys: Iterable[int]) -> int:
    total, at = 0, objects.at
    for key in keys:
        total += int(at[key, "id"])
    return total


def _lengths(keys: Sequence[int]) -> int:
    return len(keys) * len(NAME.format(0))


class _Kind(NamedTuple):
    """A kind of objects, a list or columns: functions that make and read them.

    `read` takes one field of each object and returns the sum; `expected` is what that must be.
    An object takes at most `bytes_each`.
    """

    make: Callable[[int], Any]
    read: Callable[[Any, Iterable[int]], int]
    expected: Callable[[Sequence[int]], int]
    bytes_each: int


KINDS: dict[str, _Kind] = {
    "dicts": _Kind(_dicts, _read_key, sum, 400),
    "dataclasses": _Kind(
        lambda count: [Item(key, NAME.format(key), key / 4) for key in range(count)],
        _read_attribute,
        sum,
        300,
    ),
    "slots": _Kind(
        lambda count: [SlottedItem(key, NAME.format(key), key / 4) for key in range(count)],
        _read_attribute,
        sum,
        250,
    ),
    "tuples": _Kind(
        lambda count: [(key, NAME.format(key), key / 4) for key in range(count)],
        _read_first,
        sum,
        250,
    ),
    "strings": _Kind(
        lambda count: [NAME.format(key) for key in range(count)], _read_length, _lengths, 100
    ),
    "array": _Kind(_columns, _read_column, sum, 16),
    "frame": _Kind(_frame, _read_cell, sum, 64),
}

OnState.holds = Holds(
    what="state",
    count="objects",
    by="kind",
    bytes_each={name: kind.bytes_each for name, kind in KINDS.items()},
    own_copies={"made_by": "loop"},
)


# ------------------------------------------------------------------------------ deferred counts


def _defer(objects: Any) -> None:
    """Ask CPython to defer the reference counts of these objects (3.14, free-threaded).

    Raises:
        RuntimeError: it did so for none of them: the collector tracks no such object.
    """
    import ctypes  # costs memory: only this arm has it

    enable = ctypes.pythonapi.PyUnstable_Object_EnableDeferredRefcount
    enable.argtypes = [ctypes.py_object]
    if not sum(map(enable, objects)):
        raise RuntimeError("no object of this kind can have its reference count deferred")


# ----------------------------------------------------------------------------------------- workload


@dataclass
class State(OnState):
    """Read-mostly state: objects made once before the workers, read by key on every loop.

    One operation: one callback that reads `reads` objects, by keys that were drawn beforehand. An
    object has three fields (a number, a name, a price), of which one is read. Threads share the
    objects, which the main thread has made. Processes forked from the one that made them share its
    pages, but to read an object is to write its reference count, which copies the page. A fresh
    process, and a sub-interpreter, makes its own.

    Before it is measured each worker reads every object of the `read_percent` once. So memory at
    the window's end is that after this part was read; with 0 it is that after the fork, and an
    operation adds up as many numbers instead.
    """

    operation = "callbacks"
    alone: ClassVar[str | None] = None

    read_percent: float = parameter(100.0, "share of the objects that is read, %", at_least=0)
    zipf: float = parameter(
        0.0, "how hot keys are: the exponent of a Zipf law; 0: all alike", at_least=0
    )
    reads: int = parameter(100, "objects that an operation reads", at_least=1)

    def load(self) -> None:
        """Make the state, unless each loop makes its own, and draw the keys."""
        super().load()
        if self.is_placed:
            # Here, since `state-pass` does without what look-ups import.
            from workers.workloads.parts.lookups import drawn, part_of

            of = (self.objects, self.read_percent)
            self._part = once_per_process(of, lambda: part_of(*of))
            self._drawn = once_per_process((*of, self.zipf), lambda: drawn(self._part, self.zipf))

    async def setup(self, worker: Worker) -> None:
        """Read the part once, and take a copy of the keys.

        Raises:
            RuntimeError: what was read is not what was made.
        """
        self._state = self.state()
        kind = KINDS[self.kind]
        if kind.read(self._state, self._part) != kind.expected(self._part):
            raise RuntimeError("the state that was read is not the one that was made")
        self._keys = self._drawn[:]

    def reading(self, worker: Worker) -> Callable[[], None]:
        """Return a function that reads the next objects; workers begin at different keys."""
        objects, read = self._state, KINDS[self.kind].read
        keys, reads = self._keys, self.reads
        if not keys:
            objects, read, keys = None, _nothing, array("I", range(reads))
        keys *= 1 + reads // len(keys)
        last = len(keys) - reads
        at = last * worker.index // worker.workers

        def read_next() -> None:
            nonlocal at
            read(objects, keys[at : at + reads])
            at = at + reads if at + reads <= last else 0

        return read_next

    async def run(self, worker: Worker) -> None:
        await call_back(worker, self.reading(worker))


def _nothing(_objects: None, keys: Iterable[int]) -> int:
    total = 0
    for key in keys:
        total += key
    return total
