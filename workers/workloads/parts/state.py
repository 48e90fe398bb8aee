"""What programs keep in memory and mostly read: made once, then read by key.

It is made before there are workers, as applications do when they are imported: threads read objects
that the main thread made, forked processes share the pages that they were made in until a reference
count is written there, and a fresh process makes its own.
"""

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

from workers import Workload, parameter
from workers.worker.shared import of_process
from workers.worker.workload import Holds

NAME = "item {:011}"  # of one length, so that the sum of what was read is known


class State(NamedTuple):
    """The objects, a list or columns, and how they are read.

    `read` takes one field of each object and returns the sum; `expected` is what that must be.
    """

    objects: Any
    read: Callable[[Any, Iterable[int]], int]
    expected: Callable[[Sequence[int]], int]


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

    def placed(self, model: str, workers: int, index: int | None) -> None:
        """Have the state made by `load`, which is called before there are workers."""
        self.is_placed = True

    def load(self) -> None:
        """Import what the kind needs; make the state, unless each loop makes its own."""
        if self.kind == "frame":
            _pandas()
        if self.is_placed and self.made_by == "process":
            self._made()

    def facts(self) -> dict[str, str]:
        """What was really made, by whom, and whether its reference counts are deferred."""
        counts = {"reference_counts": "deferred"} if self.deferred else {}
        return {"kind": self.kind, "made_by": self.made_by, **counts}

    def state(self) -> State:
        """The state of this worker: that of its process, or one that it makes now."""
        return self._made() if self.made_by == "process" else self._make()

    def _made(self) -> State:
        return of_process((self.kind, self.objects, self.deferred), self._make)

    def _make(self) -> State:
        make, read, expected, _ = KINDS[self.kind]
        objects = make(self.objects)
        if self.deferred:
            _defer(objects)
        return State(objects, read, expected)


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
    """How objects of a kind are made and read; `each` are the bytes that one takes at most."""

    make: Callable[[int], Any]
    read: Callable[[Any, Iterable[int]], int]
    expected: Callable[[Sequence[int]], int]
    each: int


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
    bytes_each={name: kind.each for name, kind in KINDS.items()},
    own_copies={"made_by": "loop"},
)


# ------------------------------------------------------------------------------ deferred counts


def _defer(objects: Any) -> None:
    """Have CPython defer the reference counts of these objects (3.14, free-threaded).

    Raises:
        RuntimeError: it did so for none of them: the collector tracks no such object.
    """
    import ctypes  # costs memory: only this arm has it

    enable = ctypes.pythonapi.PyUnstable_Object_EnableDeferredRefcount
    enable.argtypes = [ctypes.py_object]
    if not sum(map(enable, objects)):
        raise RuntimeError("no object of this kind can have its reference count deferred")
