"""The negative control: the same pure-Python work, on an object that all workers share."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from workers import Worker, Workload, parameter
from workers.workloads.parts.work import call_back

Rung = Literal["nothing", "global", "value", "attribute-read", "attribute-write", "lock"]
OfOneLoop = Literal["asyncio-lock", "asyncio-event", "asyncio-queue"]

# Never run: choices that exist so that the plan can say why not, and what to use instead.
OF_ONE_LOOP: dict[str, tuple[str, str]] = {
    "asyncio-lock": ("asyncio.Lock", "a threading.Lock, held briefly"),
    "asyncio-event": ("asyncio.Event", "call_soon_threadsafe"),
    "asyncio-queue": ("asyncio.Queue", "a queue.SimpleQueue and call_soon_threadsafe"),
}


class Common:
    """An object shared by all workers of one interpreter."""

    def __init__(self) -> None:
        self.value = 0
        self.lock = threading.Lock()


COMMON = Common()
NUMBER = 7


@dataclass
class Shared(Workload):
    """Negative control: pure-Python work on one shared object; must not scale.

    One operation: one callback with `iterations` turns of a loop, each using the shared object
    once. `sharing` goes from nothing to a lock. With `attribute-write` (the default) N workers must
    not be faster than one, or the study is void. Only threads share; processes and
    sub-interpreters have a copy each, and scale. asyncio's own primitives (`asyncio-lock`,
    `asyncio-event`, `asyncio-queue`) are refused: they are for the tasks of one loop.
    """

    operation = "callbacks"
    alone = None

    sharing: Literal[Rung, OfOneLoop] = parameter(
        "attribute-write", "what every turn of the loop uses"
    )
    iterations: int = parameter(1_000, "turns of a pure-Python loop per callback", at_least=1)

    def refuses(self, model: str, loop: str) -> str | None:
        """Only threads share objects, and asyncio's primitives are not safe between threads.

        CPython reports that only when a second loop has to wait ("is bound to a different event
        loop"). Until then both loops run on, without any protection from each other.
        """
        if model != "threads":
            return "not all workers of this model share an object; only threads do"
        if self.sharing in OF_ONE_LOOP:
            name, instead = OF_ONE_LOOP[self.sharing]
            return (
                f"an {name} is for the tasks of one loop: it is not safe between threads, and a "
                f"second loop that has to wait for it gets a RuntimeError. Use {instead}"
            )
        return None

    async def run(self, worker: Worker) -> None:
        await call_back(worker, partial(RUNGS[self.sharing], self.iterations))


def _nothing(count: int) -> None:
    own = 0
    for _ in range(count):
        own += 7


def _global(count: int) -> None:
    own = 0
    for _ in range(count):
        own += NUMBER


def _value(count: int) -> None:
    # One object, looked up once and used by all: they share its reference count.
    own, value = 0, COMMON.value
    for _ in range(count):
        own += value


def _attribute_read(count: int) -> None:
    own, common = 0, COMMON
    for _ in range(count):
        own += common.value


def _attribute_write(count: int) -> None:
    common = COMMON
    for k in range(count):
        common.value = k


def _lock(count: int) -> None:
    lock = COMMON.lock
    for _ in range(count):
        with lock:
            pass


RUNGS: dict[str, Callable[[int], None]] = {
    "nothing": _nothing,
    "global": _global,
    "value": _value,
    "attribute-read": _attribute_read,
    "attribute-write": _attribute_write,
    "lock": _lock,
}
