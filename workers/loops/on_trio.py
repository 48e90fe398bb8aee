"""Runs a session on trio."""

import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import outcome
import trio

from workers.channel import Channel, Message
from workers.loops.libraries import ENDED_EARLY


class TrioRunner:
    """Runs a session with `trio.run`."""

    def __init__(self) -> None:
        self._tasks_at_start = 0
        self._cut_short = 0

    def run[T](self, session: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a session inside a nursery for its traffic."""
        return trio.run(self._run, session)

    async def _run[T](self, session: Callable[[], Coroutine[Any, Any, T]]) -> T:
        async with trio.open_nursery() as self._nursery:
            self._tasks_at_start = _tasks()
            result = await outcome.acapture(session)  # or the nursery would wrap what it raises
            self._nursery.cancel_scope.cancel()
        return result.unwrap()

    def event(self) -> trio.Event:
        """Make an event."""
        return trio.Event()

    def start(self, traffic: Coroutine[Any, Any, None]) -> None:
        """Start the traffic in the nursery; its error is kept until someone awaits it."""
        self._scope, self._waiting = trio.CancelScope(), trio.CancelScope()
        self._ended = trio.Event()
        self._error: BaseException | None = None
        self._nursery.start_soon(self._drive, traffic)

    async def _drive(self, traffic: Coroutine[Any, Any, None]) -> None:
        try:
            with self._scope:
                await traffic
        except trio.Cancelled:  # not by us: the whole session is cancelled
            raise
        except BaseException as error:
            self._error = error
        finally:
            self._ended.set()
            self._waiting.cancel()

    async def beside[T](self, awaited: Coroutine[Any, Any, T]) -> T:
        """Await something in a scope that is cancelled when the traffic ends."""
        with trio.CancelScope() as self._waiting:
            if self._ended.is_set():
                self._waiting.cancel()
            return await awaited
        self._raise()
        raise RuntimeError(ENDED_EARLY)

    async def end_traffic(self, grace_s: float) -> None:
        """Wait for the task, then cancel it."""
        with trio.move_on_after(grace_s):
            await self._ended.wait()
        await self.cancel_traffic(grace_s)
        self._raise()

    async def cancel_traffic(self, grace_s: float) -> None:
        """Cancel the task's scope."""
        self._scope.cancel()
        with trio.move_on_after(grace_s):
            await self._ended.wait()

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def on_error(self, report: Callable[[str], None]) -> None:
        """Do nothing: in trio every error is raised in the task that awaits it."""

    def start_eagerly(self) -> None:
        """Refuse: a task of trio starts when its scheduler takes it."""
        raise RuntimeError("trio has no eager tasks")

    async def sleep(self, seconds: float) -> None:
        """Wait by trio's clock."""
        await trio.sleep(seconds)

    async def receive(self, channel: Channel) -> Message:
        """Wait for a message with trio's `wait_readable`."""
        message = None
        while message is None:
            await trio.lowlevel.wait_readable(channel.fileno())
            message = channel.poll()
        return message

    async def take_ticks(self, instants_ns: Sequence[int], tick: Callable[[int], None]) -> None:
        """Take each tick in the calling task: trio has no timer callbacks."""
        for instant_ns in instants_ns:
            delay_s = instant_ns / 1e9 - time.monotonic()
            await trio.sleep_until(trio.current_time() + delay_s)
            tick(instant_ns)

    async def within(self, limit_s: float, closing: Coroutine[Any, Any, None]) -> None:
        """Cancel a hanging teardown, since trio leaves no task behind, and count it."""
        with trio.move_on_after(limit_s) as scope:
            await closing
        self._cut_short += scope.cancelled_caught

    def pending(self) -> int:
        """Count the tasks beyond those at the session's start, and the teardowns cancelled."""
        return _tasks() - self._tasks_at_start + self._cut_short

    def in_use(self) -> Message:
        """Return the facts of trio: no class to choose, no debug mode, no eager tasks."""
        return {"loop_class": "trio.run", "debug": False, "eager_tasks": False}


def _tasks() -> int:
    return trio.lowlevel.current_statistics().tasks_living
