"""What a session needs of what runs it: `on_asyncio`, on any of its loops, or `on_trio`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from workers.host.channel import Channel, Message

ENDED_EARLY = "the traffic ended before the worker was stopped"


class Event(Protocol):
    """A flag that is set once, and can be awaited on the loop."""

    def set(self) -> None:
        """Set it."""

    async def wait(self) -> object:
        """Wait until it is set."""


class Traffic(Protocol):
    """A workload's traffic, a task beside the session until the worker is stopped."""

    async def beside[T](self, awaited: Coroutine[Any, Any, T]) -> T:
        """Await something while the traffic runs.

        Raises:
            RuntimeError: the traffic ended meanwhile.
            Exception: whatever the traffic raised meanwhile.
        """

    async def end(self, grace_s: float) -> None:
        """Give stopped traffic `grace_s` to finish its operations, then cancel it.

        Raises:
            Exception: whatever the traffic raised.
        """

    async def cancel(self, grace_s: float) -> None:
        """Cancel the traffic, and wait at most `grace_s` for it to end."""


class Runner(Protocol):
    """Runs a session, and provides it with what differs between asyncio and trio."""

    def run[T](self, session: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Make a loop, run `session` on it to its end, close the loop."""

    def event(self) -> Event:
        """Make an event; no loop has to run yet."""

    def start(self, traffic: Coroutine[Any, Any, None]) -> Traffic:
        """Start traffic as a task beside the calling session."""

    def on_error(self, report: Callable[[str], None]) -> None:
        """From now on call `report` for errors in callbacks, instead of logging them."""

    def start_eagerly(self) -> None:
        """From now on tasks of the running loop start at once, not in its next iteration.

        Raises:
            RuntimeError: the library has no eager tasks.
        """

    def is_eager(self) -> bool:
        """Whether tasks of the running loop start at once."""

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

    def loop_class(self) -> str:
        """Return module and class name of the running loop."""

    def debug(self) -> bool:
        """Whether the running loop is in debug mode."""
