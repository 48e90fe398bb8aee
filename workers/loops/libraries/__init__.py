"""Many tasks at once in asyncio, trio and anyio: the few shapes that workloads need of all three.

Each shape is a whole small program as that library's user would write it, so nothing of ours
stands between an operation and the library.
"""

from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, Protocol

from workers.loops.registry import known_loop

type Begin = Callable[[], Coroutine[Any, Any, object]]
"""An async function without arguments: what a task is made of."""

type Leg = Callable[[Callable[[], None]], Coroutine[Any, Any, object]]
"""The same in a relay: it is given what starts the next one, and calls that at its end."""


class Library(Protocol):
    """A library's tasks."""

    name: str
    """As `libraries` of a workload has it: `asyncio`, `trio`, `anyio`."""
    cancelled: type[BaseException]
    """What a cancelled task is told by."""
    sleep: Callable[[float], Awaitable[object]]
    """The library's own, no wrapper; seconds."""

    async def join(self, begins: Iterable[Begin]) -> None:
        """Start a task for each, in a group; return when all are done.

        Raises:
            BaseExceptionGroup: of what tasks raised; the others have been cancelled then.
        """

    async def relay(self, legs: Iterable[Leg], at_most: int) -> None:
        """Start a task for each, in a group, `at_most` of them at first; the others follow these.

        No queue and no semaphore stands between two tasks: the one that ends starts the next.

        Raises:
            BaseExceptionGroup: as `join`.
        """

    async def cancel(self, begins: Iterable[Begin], ready: Begin) -> int:
        """Start a task for each, wait for `ready`, cancel them all.

        Returns the ns from the first cancelling until the last task has settled.
        """


def library(loop: str) -> Library:
    """The library that is spoken on a loop of that name; to be called on that very loop.

    Raises:
        UnknownLoopError: no such loop.
        ImportError: the library is not installed.
    """
    name = known_loop(loop).library
    if name == "asyncio":
        from workers.loops.libraries.of_asyncio import Asyncio  # a worker on trio does without

        return Asyncio()
    from workers.loops.libraries.of_scopes import Scopes

    return Scopes(name)
