"""The cell: the JSON document that tells a child what to measure."""

import math
import os
from dataclasses import dataclass, field, fields
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

SCHEMA = 1
LOOPBACK = "127.0.0.1"

# Values as messages name them. They are checked with `type(...)`: for Python `true` is an int, but
# here it is not a number.
VALUES: dict[type, str] = {
    str: "a name",
    dict: "an object",
    list: "a list",
    int: "a whole number",
    float: "seconds",
    bool: "true or false",
    NoneType: "null",
}

# Models with several loops in one interpreter: all workers, or as many as `mixed:K` says.
SHARING = ("threads", "mixed", "mixed-forked")
MIXED = SHARING[1:]

# Header of the request for a WebSocket: how many messages of the server answer an operation (1).
MESSAGES = "X-Messages-Per-Operation"
LOOPS = "loops"  # the server that is this project's own, on each loop

# The workloads that a command may serve: their names, and their paths, which the driver sends.
APPLICATIONS = (
    *("app", "workers.workloads.app:App"),
    *("mix", "workers.workloads.mix:Mix"),
    *("web", "workers.workloads.web:Web"),
)


class CellError(ValueError):
    """The cell is not valid; the message names the key and what was expected."""


@dataclass(frozen=True)
class Cell:
    """One point of a study, which one child measures once.

    `in_flight` is the work in flight of all workers together, divided evenly; with None each has
    the workload's default. `gc_threshold` is the collector's first one, in objects; None leaves it
    as it is. With `eager_tasks` each loop starts tasks at once; with `own_code` each worker in a
    thread has its own copies of the workload's classes and functions. `switches` are the arm's,
    with their values (`workers.readback.switches`). `services` are URLs by service. `pinning` lists
    the CPUs of each worker. `observer_fd` is the descriptor on which the driver waits for phases;
    None: no driver. An `alternating` run takes its window in slices, each when the driver says so,
    and may be stopped between them.

    `model` is what a worker is (`workers.host.models`). With `mixed:K` and `mixed-forked:K`, N / K
    processes have K loop threads each.
    """

    workload: str
    parameters: dict[str, Any] = field(default_factory=dict)
    loop: str = "asyncio"
    model: str = "threads"
    workers: int = 1
    in_flight: int | None = None
    warmup_s: float = 0.3
    window_s: float = 1.0
    ticks: int = 10
    gc: bool = True
    gc_threshold: int | None = None
    eager_tasks: bool = False
    own_code: bool = False
    switches: dict[str, bool | int | float | str] = field(default_factory=dict)
    services: dict[str, list[str]] = field(default_factory=dict)
    pinning: list[list[int]] | None = None
    observer_fd: int | None = None
    alternating: bool = False
    schema: int = SCHEMA

    @property
    def kind(self) -> str:
        """The name of its model, without the number of a mixed one."""
        return self.model.partition(":")[0]

    @property
    def loops_each(self) -> int:
        """The number of workers in an interpreter: all threads, K of a mixed model, else one."""
        if self.model == "threads":
            return self.workers
        return int(self.model.partition(":")[2] or 1)

    @property
    def interpreters(self) -> int:
        """The number of interpreters that the workers are divided among."""
        return self.workers // self.loops_each

    @property
    def outside(self) -> bool:
        """True if the workers belong to a command, which is measured from outside."""
        return self.workload in APPLICATIONS and self.served_by != LOOPS

    @property
    def served_by(self) -> str:
        """The server that its parameters ask for: by name, or as the second half of a stack."""
        asked = self.parameters.get("server") or self.parameters.get("stack", LOOPS)
        return str(asked).rpartition("/")[2]

    def share(self, index: int) -> int | None:
        """Work in flight of one worker; None: the workload's default."""
        return None if self.in_flight is None else share(self.in_flight, index, self.workers)


def share(total: int, index: int, of: int) -> int:
    """The even share of number `index` (from 0) out of `of`; the first ones get the remainder."""
    each, rest = divmod(total, of)
    return each + (index < rest)


def schedule(opens_ns: int, window_s: float, ticks: int) -> list[int]:
    """Instants (monotonic ns) that cut a window of `window_s` into `ticks` equal parts.

    There are `ticks + 1` of them: the first opens the window, the last closes it.
    """
    step_ns = window_s * 1e9 / ticks
    return [opens_ns + round(k * step_ns) for k in range(ticks + 1)]


def read_cell(document: object) -> Cell:
    """Check a decoded JSON document and return the cell.

    Raises:
        CellError: not an object, an unknown key, a wrong type, or a value out of range.
    """
    if not isinstance(document, dict) or "workload" not in document:
        raise CellError('a cell is a JSON object with at least {"workload": "echo"}')
    known = {each.name: _kinds(each.type) for each in fields(Cell)}
    if unknown := sorted(set(document) - set(known)):
        raise CellError(f"unknown key {unknown[0]!r} in the cell; known: {', '.join(known)}")
    for name, value in document.items():
        kinds = known[name]
        if not (type(value) in kinds or (float in kinds and type(value) is int)):
            expected = " or ".join(VALUES[each] for each in kinds)
            raise CellError(f"{name}: expected {expected}, got {value!r}")
    cell = Cell(**document)
    _check(cell)
    return cell


def _kinds(annotation: Any) -> list[type]:
    """The types that an annotation permits: of `list[int] | None`, `list` and `NoneType`."""
    union = isinstance(annotation, UnionType)
    return [get_origin(each) or each for each in (get_args(annotation) if union else [annotation])]


def _check(cell: Cell) -> None:
    if cell.schema != SCHEMA:
        raise CellError(f"schema: this child reads {SCHEMA}, the cell has {cell.schema}")
    for name in ("workers", "ticks"):
        if getattr(cell, name) < 1:
            raise CellError(f"{name}: expected at least 1, got {getattr(cell, name)!r}")
    _check_mixed(cell)
    if cell.gc_threshold is not None and cell.gc_threshold < 1:
        raise CellError(f"gc_threshold: expected at least 1, got {cell.gc_threshold!r}")
    # Python's JSON also accepts NaN and Infinity.
    if not 0 < cell.window_s < math.inf:
        raise CellError(f"window_s: expected seconds above 0, got {cell.window_s}")
    if not 0 <= cell.warmup_s < math.inf:
        raise CellError(f"warmup_s: expected seconds, 0 or more, got {cell.warmup_s}")
    if cell.in_flight is not None and cell.in_flight < cell.workers:
        raise CellError(
            f"in_flight: {cell.in_flight} is less than one for each of {cell.workers} workers"
        )
    if cell.pinning is not None:
        _check_pinning(cell.pinning, cell.workers)


def _check_mixed(cell: Cell) -> None:
    """Check a mixed model; the host refuses unknown models."""
    kind, colon, count = cell.model.partition(":")
    if (kind in MIXED) != bool(colon) or (colon and not count.isdecimal()):
        raise CellError(f"model: expected mixed:K with threads per process, got {cell.model!r}")
    if colon and (int(count) < 2 or cell.workers % int(count)):
        raise CellError(
            f"model: {cell.workers} workers cannot be processes of {count} threads ({cell.model})"
        )


def _check_pinning(pinning: list[Any], workers: int) -> None:
    if not hasattr(os, "sched_setaffinity"):
        raise CellError("pinning: this system cannot pin threads to CPUs")
    lists = [each for each in pinning if isinstance(each, list) and each]
    if len(lists) != len(pinning) or len(lists) != workers:
        raise CellError(f"pinning: expected a list of CPUs for each of {workers} workers")
    for cpu in (cpu for each in lists for cpu in each):
        if type(cpu) is not int or cpu < 0:
            raise CellError(f"pinning: expected CPU numbers, got {cpu!r}")
