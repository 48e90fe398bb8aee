"""A worker's life on trio."""

import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import outcome
import trio

from workers.host.channel import Channel, Message
from workers.loops.runners import ENDED_EARLY


class TrioTraffic:
    """A task in the nursery around the life; what it raises is kept for whoever asks."""

    def __init__(self, nursery: trio.Nursery, traffic: Coroutine[Any, Any, None]) -> None:
        self._scope = trio.CancelScope()
        self._waiting = trio.CancelScope()
        self._ended = trio.Event()
        self._error: BaseException | None = None
        nursery.start_soon(self._drive, traffic)

    async def _drive(self, traffic: Coroutine[Any, Any, None]) -> None:
        try:
            with self._scope:
                await traffic
        except trio.Cancelled:  # not by us: the whole life is over
            raise
        except BaseException as error:
            self._error = error
        finally:
            self._ended.set()
            self._waiting.cancel()

    async def beside[T](self, awaited: Coroutine[Any, Any, T]) -> T:
        """Wait for something in a scope that the end of the traffic cancels."""
        with trio.CancelScope() as self._waiting:
            if self._ended.is_set():
                self._waiting.cancel()
            return await awaited
        self._raise()
        raise RuntimeError(ENDED_EARLY)

    async def end(self, grace_s: float) -> None:
        """Wait for the task, then cancel it."""
        with trio.move_on_after(grace_s):
            await self._ended.wait()
        await self.cancel(grace_s)
        self._raise()

    async def cancel(self, grace_s: float) -> None:
        """Cancel the task's scope."""
        self._scope.cancel()
        with trio.move_on_after(grace_s):
            await self._ended.wait()

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error


class TrioRuntime:
    """Runs lives by `trio.run`."""

    def __init__(self) -> None:
        self._tasks_of_its_own = 0
        self._cut_short = 0

    def run[T](self, session: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a life inside a nursery for its traffic."""
        return trio.run(self._run, session)

    async def _run[T](self, session: Callable[[], Coroutine[Any, Any, T]]) -> T:
        async with trio.open_nursery() as self._nursery:
            self._tasks_of_its_own = _tasks()
            lived = await outcome.acapture(session)  # so that no nursery wraps what it raises
            self._nursery.cancel_scope.cancel()
        return lived.unwrap()

    def event(self) -> trio.Event:
        """Make an event."""
        return trio.Event()

    def start(self, traffic: Coroutine[Any, Any, None]) -> TrioTraffic:
        """Start traffic in the nursery."""
        return TrioTraffic(self._nursery, traffic)

    def hear_errors(self, heard: Callable[[str], None]) -> None:
        """Nothing to hear: on trio every error reaches the task that waits for it."""

    async def sleep(self, seconds: float) -> None:
        """Wait by trio's own clock."""
        await trio.sleep(seconds)

    async def receive(self, channel: Channel) -> Message:
        """Wait for a message by trio's own poll."""
        message = None
        while message is None:
            await trio.lowlevel.wait_readable(channel.fileno())
            message = channel.take()
        return message

    async def take_ticks(self, instants_ns: Sequence[int], tick: Callable[[int], None]) -> None:
        """Take each tick in the task that calls this: trio has no other timers."""
        for instant_ns in instants_ns:
            delay_s = instant_ns / 1e9 - time.monotonic()
            await trio.sleep_until(trio.current_time() + delay_s)
            tick(instant_ns)

    async def within(self, limit_s: float, closing: Coroutine[Any, Any, None]) -> None:
        """Cut short what hangs, since no task of trio's is left behind, and count it."""
        with trio.move_on_after(limit_s) as scope:
            await closing
        self._cut_short += scope.cancelled_caught

    def pending(self) -> int:
        """Count tasks beyond those that ran when the life began, and what was cut short."""
        return _tasks() - self._tasks_of_its_own + self._cut_short

    def loop_class(self) -> str:
        """Name what runs: trio's loop has no class that one could choose."""
        return "trio.run"

    def debug(self) -> bool:
        """Trio has no debug mode."""
        return False


def _tasks() -> int:
    return trio.lowlevel.current_statistics().tasks_living
