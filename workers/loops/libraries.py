"""Many tasks at once in asyncio, trio and anyio: what workloads need of each."""

import importlib
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from itertools import islice
from typing import Any, Protocol

# ----------------------------------------------------------------------------------------- patterns
# The three patterns of many tasks at once that workloads need of each library.
#
# Each pattern is a whole small program as that library's user would write it, so no code of ours
# runs between an operation and the library.

type Begin = Callable[[], Coroutine[Any, Any, object]]
"""An async function without arguments, run as a task."""

type Leg = Callable[[Callable[[], None]], Coroutine[Any, Any, object]]
"""A task of a relay: an async function that calls its argument at its end to start the next."""


class Library(Protocol):
    """Tasks in one of the libraries."""

    name: str
    """As in a workload's `libraries`: `asyncio`, `trio`, `anyio`."""
    cancelled: type[BaseException]
    """What is raised in a cancelled task."""
    sleep: Callable[[float], Awaitable[object]]
    """The library's own function, without a wrapper; seconds."""

    async def join(self, begins: Iterable[Begin]) -> None:
        """Start a task for each in one group; return when all have ended.

        Raises:
            BaseExceptionGroup: what the tasks raised; the others have been cancelled.
        """

    async def relay(self, legs: Iterable[Leg], at_most: int) -> None:
        """Run a task for each in one group, `at_most` of them at a time.

        The task that ends starts the next: there is no queue and no semaphore between them.

        Raises:
            BaseExceptionGroup: as in `join`.
        """

    async def cancel(self, begins: Iterable[Begin], ready: Begin) -> int:
        """Start a task for each, wait for `ready`, cancel them all.

        Returns the ns from the first cancellation until the last task has ended.
        """


# ----------------------------------------------------------------------------------- trio and anyio
# One cancel scope covers a whole group of tasks.


class CancelScopes:
    """Nurseries in trio, task groups in anyio."""

    def __init__(self, name: str) -> None:
        library = importlib.import_module(name)
        self.name = name
        self.sleep: Callable[[float], Awaitable[object]] = library.sleep
        self.cancelled: type[BaseException]
        self._open_group: Callable[[], Any]
        if name == "trio":
            self.cancelled, self._open_group = library.Cancelled, library.open_nursery
        else:  # the answer depends on the running loop
            self.cancelled = library.get_cancelled_exc_class()
            self._open_group = library.create_task_group

    async def join(self, begins: Iterable[Begin]) -> None:
        """Start them in a group."""
        async with self._open_group() as group:
            for begin in begins:
                group.start_soon(begin)

    async def relay(self, legs: Iterable[Leg], at_most: int) -> None:
        """Start them in a group; its own tasks may add more."""
        waiting = iter(legs)
        async with self._open_group() as group:

            def start_next() -> None:
                leg = next(waiting, None)
                if leg is not None:
                    group.start_soon(leg, start_next)

            for leg in islice(waiting, at_most):
                group.start_soon(leg, start_next)

    async def cancel(self, begins: Iterable[Begin], ready: Begin) -> int:
        """Cancel the group's scope: one call for all of them."""
        async with self._open_group() as group:
            for begin in begins:
                group.start_soon(begin)
            await ready()
            from_ns = time.monotonic_ns()
            group.cancel_scope.cancel()
        return time.monotonic_ns() - from_ns
