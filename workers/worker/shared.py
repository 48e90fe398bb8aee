"""Shared by the workers of one process: single objects, the environment, their meeting."""

import asyncio
import contextlib
import os
import threading
from collections.abc import AsyncIterator, Callable, Hashable, Iterator, Mapping
from typing import Any

# --------------------------------------------------------------------------------------------- once

_made: dict[Hashable, Any] = {}


def once_per_process[T](key: Hashable, make: Callable[[], T]) -> T:
    """Return the one object of this process for `key`; the first caller makes it."""
    if key not in _made:
        _made[key] = make()
    made: T = _made[key]
    return made


# -------------------------------------------------------------------------------------- environment
# Environment variables that a worker sets for itself while its application is made.

# The environment belongs to the process: workers in threads use it one after the other.
_LOCK = threading.Lock()
TURN_S = 0.002  # between two tries to acquire it


@contextlib.contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set these variables while the block runs, in which no other worker sets or reads its own."""
    with _LOCK, _set(variables):
        yield


@contextlib.asynccontextmanager
async def environment_on_loop(variables: Mapping[str, str]) -> AsyncIterator[None]:
    """Set these variables as `environment` does, without blocking the loop in the meantime."""
    while not _LOCK.acquire(blocking=False):  # noqa: ASYNC110 - of threads, not of tasks
        await asyncio.sleep(TURN_S)
    try:
        with _set(variables):
            yield
    finally:
        _LOCK.release()


@contextlib.contextmanager
def _set(variables: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


# ------------------------------------------------------------------------------------------ meeting
# The loops of one process find each other, and wait for each other before they close.
#
# A callback must not be sent to a loop that does not exist yet or is already closed. So the workers
# wait for each other twice: once all have joined, each gets all the loops; once all have left, they
# may close.


class Meeting:
    """Lets `workers` loops, each in its own thread, find each other once.

    The last to arrive wakes all the others through `call_soon_threadsafe`. Their loops cannot be
    closed yet, because each still waits.
    """

    def __init__(self, workers: int) -> None:
        self._loops: list[asyncio.AbstractEventLoop | None] = [None] * workers
        self._joined = Barrier(workers)
        self._left = Barrier(workers)

    async def join(self, index: int) -> list[asyncio.AbstractEventLoop]:
        """Join with the running loop; return every worker's loop once all have joined."""
        self._loops[index] = asyncio.get_running_loop()
        await self._joined.wait()
        return [loop for loop in self._loops if loop is not None]

    async def leave(self) -> None:
        """Declare that this worker sends nothing more; return once all have declared it."""
        await self._left.wait()


class Barrier:
    """A barrier for loops in different threads; `asyncio.Barrier` is for one loop only."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def wait(self) -> None:
        """Return once `size` loops are waiting."""
        complete = asyncio.Event()
        with self._lock:
            self._waiting.append((asyncio.get_running_loop(), complete))
            all_here = len(self._waiting) == self._size
        if all_here:
            for loop, event in self._waiting:
                loop.call_soon_threadsafe(event.set)
        await complete.wait()


_making = threading.Lock()
_meetings: dict[int, Meeting] = {}


def meeting(workers: int) -> Meeting:
    """Return the meeting of this process; the first caller makes it.

    A process measures one cell, so there is only one.
    """
    with _making:
        return _meetings.setdefault(workers, Meeting(workers))
