"""Many tasks in trio and anyio, where one cancel scope covers a whole group."""

import importlib
import time
from collections.abc import Awaitable, Callable, Iterable
from itertools import islice
from typing import Any

from workers.loops.libraries.patterns import Begin, Leg


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
