"""What every program touches, one small function a row: which of these do N threads share for free?

A row is a function with `@row` and a name, a value of the parameter `primitive`; to add a row, add
its function.
"""

import ast
import contextvars
import inspect
import json
import logging
import math
import re
import threading
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

from workers import Worker, Workload, parameter
from workers.workloads.parts.work import call_back

UNROLLED = 20  # calls in a turn of the loop: what a turn costs is a twentieth of it for each
# Turns in a callback: of calls that take nanoseconds, and of those that take microseconds, next to
# which the cost of a callback, about a microsecond, is less than 1 %.
TURNS, FEW_TURNS = 100, 10


class Row(NamedTuple):
    """A row: what all threads share in it, turns of the loop in a callback, and the loop."""

    shares: str
    turns: int
    loop: Callable[[int], None]


ROWS: dict[str, Row] = {}


def row(
    name: str, shares: str, turns: int = TURNS
) -> Callable[[Callable[[int], None]], Callable[[int], None]]:
    """Register a row: a function with one loop, whose body is one call, and is unrolled."""

    def register(function: Callable[[int], None]) -> Callable[[int], None]:
        ROWS[name] = Row(shares, turns, unrolled(function))
        return function

    return register


def unrolled(function: Callable[[int], None]) -> Callable[[int], None]:
    """The function with the body of its one loop `UNROLLED` times in each turn.

    Raises:
        ValueError: it does not have exactly one loop.
    """
    tree = ast.parse(inspect.getsource(function))
    (definition,) = tree.body
    assert isinstance(definition, ast.FunctionDef)
    definition.decorator_list = []
    (loop,) = (each for each in definition.body if isinstance(each, ast.For))
    loop.body *= UNROLLED
    ast.increment_lineno(tree, function.__code__.co_firstlineno - 1)
    made: dict[str, Callable[[int], None]] = {}
    code = compile(tree, function.__code__.co_filename, "exec")
    exec(code, function.__globals__, made)  # our own source, and nobody's input
    return made[function.__name__]


class Common:
    """An object that all threads share, with a value that is not immortal, as small numbers are."""

    def __init__(self) -> None:
        self.value = object()

    def method(self) -> None:
        """Do nothing."""


@dataclass
class Point:
    """Two numbers."""

    x: float
    y: float


class Colour(Enum):
    """An enumeration."""

    RED = "red"


def remembering(value: object) -> Callable[[], object]:
    """A closure over the value."""
    return lambda: value


COMMON = Common()
CLOSURE = remembering(COMMON)
LOCAL = threading.local()
LOCK = threading.Lock()
VARIABLE = contextvars.ContextVar("VARIABLE", default=COMMON)
PATTERN = re.compile(r"(\w+) (\S+) HTTP")
REQUEST = "GET /items/42 HTTP/1.1"
DOCUMENT = '{"id": 42, "tags": ["a", "b"]}'
LOG = logging.getLogger(__name__)
LOG.setLevel(logging.WARNING)


@row("nothing", "nothing: the empty loop, which is subtracted from the others")
def _nothing(turns: int) -> None:
    for _ in range(turns):
        pass


@row("log", "a logger and its cache of levels (cpython#155106)")
def _log(turns: int) -> None:
    for _ in range(turns):
        LOG.debug("not written")


@row("thread-local", "the object; each thread has its own value (cpython#148907)")
def _thread_local(turns: int) -> None:
    local = LOCAL
    local.value = object()
    for _ in range(turns):
        _ = local.value


@row("attribute", "the object and the attribute's value")
def _attribute(turns: int) -> None:
    common = COMMON
    for _ in range(turns):
        _ = common.value


@row("method", "the object, its class and the function")
def _method(turns: int) -> None:
    common = COMMON
    for _ in range(turns):
        common.method()


@row("global", "the module's globals and the object")
def _global(turns: int) -> None:
    for _ in range(turns):
        _ = COMMON


@row("module-attribute", "the module and the attribute's value")
def _module_attribute(turns: int) -> None:
    for _ in range(turns):
        _ = math.pi


@row("closure", "the function, its cell and the value in it")
def _closure(turns: int) -> None:
    for _ in range(turns):
        CLOSURE()


@row("dataclass", "the class; each thread makes instances of its own")
def _dataclass(turns: int) -> None:
    for _ in range(turns):
        Point(0.5, 1.5)


@row("enum", "the class and its member")
def _enum(turns: int) -> None:
    for _ in range(turns):
        _ = Colour.RED


@row("isinstance-abc", "the abstract class and its cache")
def _isinstance_abc(turns: int) -> None:
    own: dict[str, int] = {}
    for _ in range(turns):
        isinstance(own, Mapping)


@row("lock", "the lock, taken and released")
def _lock(turns: int) -> None:
    lock = LOCK
    for _ in range(turns):
        with lock:
            pass


@row("contextvar", "the variable and its default; each thread has its own context")
def _contextvar(turns: int) -> None:
    variable = VARIABLE
    for _ in range(turns):
        variable.get()


@row("exception", "the class; each thread raises an instance of its own")
def _exception(turns: int) -> None:
    for _ in range(turns):
        try:
            raise ValueError
        except ValueError:
            pass


@row("f-string", "nothing but constants")
def _f_string(turns: int) -> None:
    number, name = 42, "name"
    for _ in range(turns):
        _ = f"{name}: {number}"


@row("re", "a compiled pattern and the text")
def _re(turns: int) -> None:
    for _ in range(turns):
        PATTERN.match(REQUEST)


@row("json", "the decoder and the text; each thread makes objects of its own", FEW_TURNS)
def _json(turns: int) -> None:
    for _ in range(turns):
        json.loads(DOCUMENT)


@row("deepcopy", "the tables of module copy; each thread copies an object of its own", FEW_TURNS)
def _deepcopy(turns: int) -> None:
    own = {"id": 42, "tags": ["a", "b"]}
    for _ in range(turns):
        deepcopy(own)


if TYPE_CHECKING:
    type Primitive = str
else:
    Primitive = Literal[*ROWS]


@dataclass
class Primitives(Workload):
    """What every program touches, a small function a row: what do N threads share for free?

    One operation: one call, or one access, of what `primitive` names, in a loop that is unrolled.
    Ticks include the loop. Analysis subtracts it: it is the row `nothing` of the same block, arm,
    model and number of workers (`scaling.analysis.table.empty_loop` has the formula). A study
    without that row subtracts nothing. The record says what threads share in a row; processes and
    sub-interpreters share nothing.
    """

    operation = "calls"
    alone = None

    primitive: Primitive = parameter("attribute", "what every call touches")

    def facts(self) -> dict[str, str]:
        return {"shares": ROWS[self.primitive].shares}

    async def run(self, worker: Worker) -> None:
        _, turns, loop = ROWS[self.primitive]
        await call_back(worker, partial(loop, turns), operations=turns * UNROLLED)
