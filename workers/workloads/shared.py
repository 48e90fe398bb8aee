"""The negative control: the same pure Python, on something that all workers share."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from workers import Worker, Workload, parameter
from workers.workloads.parts.turns import call_back

Rung = Literal["nothing", "global", "value", "attribute-read", "attribute-write", "lock"]
OfOneLoop = Literal["asyncio-lock", "asyncio-event", "asyncio-queue"]
Sharing = Literal[Rung, OfOneLoop]

# What can be asked for and is never run, so that the plan says why.
OF_ONE_LOOP: dict[str, tuple[str, str]] = {
    "asyncio-lock": ("asyncio.Lock", "a threading.Lock, held for moments"),
    "asyncio-event": ("asyncio.Event", "call_soon_threadsafe of what is to happen"),
    "asyncio-queue": ("asyncio.Queue", "a queue.SimpleQueue and call_soon_threadsafe"),
}


class Common:
    """What the workers of one interpreter share."""

    def __init__(self) -> None:
        self.value = 0
        self.lock = threading.Lock()


COMMON = Common()
NUMBER = 7


@dataclass
class Shared(Workload):
    """A ladder of sharing, from nothing to a lock; an attribute written by all is the control.

    One operation: one callback of `iterations` turns, each touching what is shared once. With
    `attribute-write` (the default) N workers must not be faster than one, or the study is void.
    Only threads share: processes and sub-interpreters have a copy each, and scale. What asyncio
    itself has for tasks to share (`asyncio-lock`, `asyncio-event`, `asyncio-queue`) is refused: it
    is for the tasks of one loop.
    """

    operation = "callbacks"

    sharing: Sharing = parameter("attribute-write", "what every turn touches")
    iterations: int = parameter(1_000, "turns in a callback", at_least=1)

    def refuses(self, model: str, loop: str) -> str | None:
        """Only threads have anything in common, and what belongs to one loop is not for them.

        CPython says so itself, but only when a second loop has to wait: "is bound to a different
        event loop". Until then both go on, neither safe from the other.
        """
        del loop
        if model != "threads":
            return "nothing is shared between workers of this model"
        if self.sharing in OF_ONE_LOOP:
            name, instead = OF_ONE_LOOP[self.sharing]
            return (
                f"an {name} is for the tasks of one loop: it is not safe between threads, and a "
                f"second loop that has to wait for it gets a RuntimeError. Use {instead}"
            )
        return None

    async def run(self, worker: Worker) -> None:
        """Call back again and again until stopped."""
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
    # One object reached once and then used by all: its reference count is what is shared.
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
