"""Many tasks in asyncio, on any of its loops."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from itertools import islice

from workers.loops.libraries.patterns import Begin, Leg


class Asyncio:
    """A `TaskGroup` to join tasks, a list to cancel them."""

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
        """Start them in a `TaskGroup`; its own tasks may add more."""
        waiting = iter(legs)
        async with asyncio.TaskGroup() as group:

            def start_next() -> None:
                leg = next(waiting, None)
                if leg is not None:
                    group.create_task(leg(start_next))

            for leg in islice(waiting, at_most):
                group.create_task(leg(start_next))

    async def cancel(self, begins: Iterable[Begin], ready: Begin) -> int:
        """Cancel the tasks one by one: asyncio has no call that cancels many."""
        tasks = [asyncio.create_task(begin()) for begin in begins]
        await ready()
        from_ns = time.monotonic_ns()
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        return time.monotonic_ns() - from_ns
