"""The three patterns of many tasks at once that workloads need of each library.

Each pattern is a whole small program as that library's user would write it, so no code of ours runs
between an operation and the library.
"""

from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, Protocol

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
