"""asyncio, on any of its loops: what runs a session, and many tasks at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from itertools import islice
from typing import Any

from workers.channel import Channel, Message
from workers.loops.libraries import ENDED_EARLY, Begin, Leg

# ------------------------------------------------------------------------------------------ session
# Runs a session on asyncio, on any of its loops.


class AsyncioRunner:
    """Runs a session with `asyncio.Runner`."""

    def __init__(self, new_event_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
        self._new_event_loop = new_event_loop

    def run[T](self, session: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a session on a new loop of the cell's kind."""
        with asyncio.Runner(loop_factory=self._new_event_loop) as runner:
            return runner.run(session())

    def event(self) -> asyncio.Event:
        """Make an event; it belongs to the loop that first awaits it."""
        return asyncio.Event()

    def start(self, traffic: Coroutine[Any, Any, None]) -> None:
        """Start the traffic as a task of the loop."""
        self._traffic = asyncio.create_task(traffic)

    async def beside[T](self, awaited: Coroutine[Any, Any, T]) -> T:
        """Await something while the task runs."""
        waiting = asyncio.ensure_future(awaited)
        await asyncio.wait({self._traffic, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if waiting.done():
            return waiting.result()
        waiting.cancel()
        await asyncio.wait({waiting})
        self._traffic.result()  # raises what ended it
        raise RuntimeError(ENDED_EARLY)

    async def end_traffic(self, grace_s: float) -> None:
        """Wait for the task, then cancel it."""
        await asyncio.wait({self._traffic}, timeout=grace_s)
        await self.cancel_traffic(grace_s)
        if self._traffic.done() and not self._traffic.cancelled():
            self._traffic.result()

    async def cancel_traffic(self, grace_s: float) -> None:
        """Cancel the task, unless it is done."""
        if not self._traffic.done():
            self._traffic.cancel()
            await asyncio.wait({self._traffic}, timeout=grace_s)

    def on_error(self, report: Callable[[str], None]) -> None:
        """Set the loop's exception handler."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: report(_message(context)))

    def start_eagerly(self) -> None:
        """Set the loop's task factory."""
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)

    async def sleep(self, seconds: float) -> None:
        """Wait by the loop's own clock."""
        await asyncio.sleep(seconds)

    async def receive(self, channel: Channel) -> Message:
        """Wait for a message with the loop's `add_reader`."""
        loop = asyncio.get_running_loop()
        arrived: asyncio.Future[Message] = loop.create_future()

        def readable() -> None:
            try:
                message = channel.poll()
            except OSError as error:
                loop.remove_reader(channel.fileno())
                arrived.set_exception(error)
                return
            if message is not None:
                loop.remove_reader(channel.fileno())
                arrived.set_result(message)

        loop.add_reader(channel.fileno(), readable)
        try:
            return await arrived
        finally:
            loop.remove_reader(channel.fileno())

    async def take_ticks(self, instants_ns: Sequence[int], tick: Callable[[int], None]) -> None:
        """Take each tick in a timer callback: no task has to be woken for it."""
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        upcoming = iter(instants_ns)

        def arm(instant_ns: int) -> None:
            delay_s = instant_ns / 1e9 - time.monotonic()
            loop.call_at(loop.time() + delay_s, fire, instant_ns)

        def fire(instant_ns: int) -> None:
            tick(instant_ns)
            following = next(upcoming, None)
            if following is not None:
                arm(following)
            elif not done.done():
                done.set_result(None)

        arm(next(upcoming))
        await done

    async def within(self, limit_s: float, closing: Coroutine[Any, Any, None]) -> None:
        """Leave a hanging teardown behind as a pending task."""
        task = asyncio.create_task(closing)
        await asyncio.wait({task}, timeout=limit_s)
        if task.done():
            task.result()

    def pending(self) -> int:
        """Count all tasks of the loop but the calling one."""
        return len(asyncio.all_tasks() - {asyncio.current_task()})

    def in_use(self) -> Message:
        """Read them from the running loop."""
        loop = asyncio.get_running_loop()
        kind = type(loop)
        return {
            "loop_class": f"{kind.__module__}.{kind.__qualname__}",
            "debug": loop.get_debug(),
            "eager_tasks": loop.get_task_factory() is asyncio.eager_task_factory,
        }


def _message(context: dict[str, Any]) -> str:
    error = context.get("exception")
    return f"{context['message']}: {error!r}" if error else str(context["message"])


# --------------------------------------------------------------------------------------- many tasks
# Many tasks in asyncio, on any of its loops.


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
