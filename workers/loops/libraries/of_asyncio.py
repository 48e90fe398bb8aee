"""asyncio's tasks, on whichever of its loops."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from itertools import islice

from workers.loops.libraries import Begin, Leg


class Asyncio:
    """Groups to join, lists to cancel."""

    name = "asyncio"
    cancelled: type[BaseException] = asyncio.CancelledError

    def __init__(self) -> None:
        self.sleep: Callable[[float], Awaitable[object]] = asyncio.sleep

    async def join(self, begins: Iterable[Begin]) -> None:
        """Start them in a `TaskGroup`."""
        async with asyncio.TaskGroup() as group:
            for begin in begins:
                group.create_task(begin())

    async def relay(self, legs: Iterable[Leg], at_most: int) -> None:
        """Start them in a `TaskGroup`, which takes tasks from its tasks, too."""
        waiting = iter(legs)
        async with asyncio.TaskGroup() as group:

            def follow() -> None:
                leg = next(waiting, None)
                if leg is not None:
                    group.create_task(leg(follow))

            for leg in islice(waiting, at_most):
                group.create_task(leg(follow))

    async def cancel(self, begins: Iterable[Begin], ready: Begin) -> int:
        """Cancel each task by itself: asyncio has nothing that cancels many."""
        tasks = [asyncio.create_task(begin()) for begin in begins]
        await ready()
        from_ns = time.monotonic_ns()
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        return time.monotonic_ns() - from_ns
