"""What runs a worker's life: asyncio on one of its loops, or trio. All that differs is in here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from workers.loops.registry import known_loop

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from workers.host.channel import Channel, Message

ENDED_EARLY = "the traffic ended before it was told to stop"


class Event(Protocol):
    """Something that happens once, and can be waited for on the loop."""

    def set(self) -> None:
        """Let it happen."""

    async def wait(self) -> object:
        """Return when it has happened."""


class Traffic(Protocol):
    """What runs beside a worker's life until it is told to stop."""

    async def beside[T](self, awaited: Coroutine[Any, Any, T]) -> T:
        """Wait for something while the traffic runs.

        Raises:
            RuntimeError: the traffic ended meanwhile; or what it raised, if it did.
        """

    async def end(self, grace_s: float) -> None:
        """Let traffic that was told to stop finish its operations, then cancel what goes on.

        Raises:
            Exception: whatever the traffic raised.
        """

    async def cancel(self, grace_s: float) -> None:
        """Cancel the traffic, and wait until it has ended, if it ends in time."""


class Runtime(Protocol):
    """Runs a worker's life and gives it what differs between asyncio and trio."""

    def run[T](self, session: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Make a loop, run `session` on it to its end, close the loop."""

    def event(self) -> Event:
        """Make an event; a loop need not run yet."""

    def start(self, traffic: Coroutine[Any, Any, None]) -> Traffic:
        """Start traffic beside the life that calls this."""

    def hear_errors(self, heard: Callable[[str], None]) -> None:
        """Have what goes wrong in callbacks told to `heard` from now on, not to a log."""

    async def sleep(self, seconds: float) -> None:
        """Wait by the loop's own clock."""

    async def receive(self, channel: Channel) -> Message:
        """Wait for a message without blocking the loop.

        Raises:
            LineClosedError: the other end is gone.
        """

    async def take_ticks(self, instants_ns: Sequence[int], tick: Callable[[int], None]) -> None:
        """Call `tick(instant)` at each instant (monotonic ns), or as soon after as can be.

        Each is scheduled relative to the loop's own clock, which need not be `time.monotonic`.
        """

    async def within(self, limit_s: float, closing: Coroutine[Any, Any, None]) -> None:
        """Wait for what closes things, but not for ever: what hangs counts as pending."""

    def pending(self) -> int:
        """Count the tasks that are left beside the one that asks."""

    def loop_class(self) -> str:
        """Name the class of the running loop, with its module."""

    def debug(self) -> bool:
        """Tell whether the running loop is in debug mode."""


def runtime_of(loop: str) -> Runtime:
    """What runs a life on this loop; its library is imported only now.

    Raises:
        UnknownLoopError: no such loop.
    """
    if known_loop(loop).made_by is None:
        from workers.loops.runners.on_trio import TrioRuntime

        return TrioRuntime()
    from workers.loops.runners.on_asyncio import AsyncioRuntime

    return AsyncioRuntime(loop)
