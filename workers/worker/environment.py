"""Environment variables that a worker sets for itself while its application is made."""

import asyncio
import contextlib
import os
import threading
from collections.abc import AsyncIterator, Iterator, Mapping

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
    """Do the same without blocking the loop while another worker has its turn."""
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
