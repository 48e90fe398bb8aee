"""Interfaces to asyncio, trio and anyio: for sessions, and for workloads with many tasks.

A session needs a `Runner`: `on_asyncio`, on any of its loops, or `on_trio`. A workload with many
tasks at once needs a `Library`.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:  # a worker has one of the libraries
    import asyncio
    from collections.abc import Sequence

    import trio

    from workers.channel import Channel, Message

# ------------------------------------------------------------------------------------------ session

ENDED_EARLY = "the traffic ended before the worker was stopped"


class Runner(Protocol):
    """Runs a session, and provides it with what differs between asyncio and trio.

    Traffic of a workload is a task beside the session until the worker is stopped.
    """

    def run[T](self, session: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Make a loop, run `session` on it to its end, close the loop."""

    def event(self) -> asyncio.Event | trio.Event:
        """Make an event; no loop has to run yet."""

    def start(self, traffic: Coroutine[Any, Any, None]) -> None:
        """Start the traffic as a task beside the calling session."""

    async def beside[T](self, awaited: Coroutine[Any, Any, T]) -> T:
        """Await something while the traffic runs.

        Raises:
            RuntimeError: the traffic ended meanwhile.
            Exception: whatever the traffic raised meanwhile.
        """

    async def end_traffic(self, grace_s: float) -> None:
        """Give stopped traffic `grace_s` to finish its operations, then cancel it.

        Raises:
            Exception: whatever the traffic raised.
        """

    async def cancel_traffic(self, grace_s: float) -> None:
        """Cancel the traffic, and wait at most `grace_s` for it to end."""

    def on_error(self, report: Callable[[str], None]) -> None:
        """From now on call `report` for errors in callbacks, instead of logging them."""

    def start_eagerly(self) -> None:
        """From now on tasks of the running loop start at once, not in its next iteration.

        Raises:
            RuntimeError: the library has no eager tasks.
        """

    async def sleep(self, seconds: float) -> None:
        """Wait by the loop's own clock."""

    async def receive(self, channel: Channel) -> Message:
        """Wait for a message without blocking the loop.

        Raises:
            ChannelClosedError: the other end is closed.
        """

    async def take_ticks(self, instants_ns: Sequence[int], tick: Callable[[int], None]) -> None:
        """Call `tick(instant)` at each instant (monotonic ns), or as soon after it as possible.

        They are scheduled by the loop's own clock, which need not be `time.monotonic`.
        """

    async def within(self, limit_s: float, closing: Coroutine[Any, Any, None]) -> None:
        """Await a teardown for at most `limit_s`; if it hangs, it counts as a pending task."""

    def pending(self) -> int:
        """Count the tasks that are left, without the calling one."""

    def in_use(self) -> Message:
        """Return class, debug mode and eager tasks of the running loop, for the record."""


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
    """The name in a workload's `libraries`: `asyncio`, `trio`, `anyio`."""
    cancelled: type[BaseException]
    """The exception that a cancelled task raises."""
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
