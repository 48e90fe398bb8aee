"""Where the loops of one process find each other, and wait for each other before they close.

A callback must not be sent to a loop that is not there yet or is closed already. So the workers
meet twice: when all have come, each is given all the loops; when all have left, they may close.
"""

import asyncio
import threading


class Meeting:
    """A place for `workers` loops to meet once, each from its own thread.

    Whoever completes a gathering wakes all the others through `call_soon_threadsafe`, on loops that
    cannot be closed yet, because each still waits for this.
    """

    def __init__(self, workers: int) -> None:
        self._loops: list[asyncio.AbstractEventLoop | None] = [None] * workers
        self._come = Gathering(workers)
        self._left = Gathering(workers)

    async def join(self, index: int) -> list[asyncio.AbstractEventLoop]:
        """Come with the running loop; return every worker's loop once all have come."""
        self._loops[index] = asyncio.get_running_loop()
        await self._come.wait()
        return [loop for loop in self._loops if loop is not None]

    async def leave(self) -> None:
        """Say that nothing of ours is on its way any more; return once all have said so."""
        await self._left.wait()


class Gathering:
    """`asyncio.Barrier` for loops of different threads, which that one is not made for."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def wait(self) -> None:
        """Return once `size` loops wait here."""
        complete = asyncio.Event()
        with self._lock:
            self._waiting.append((asyncio.get_running_loop(), complete))
            all_here = len(self._waiting) == self._size
        if all_here:
            for loop, event in self._waiting:
                loop.call_soon_threadsafe(event.set)
        await complete.wait()


_first = threading.Lock()
_meetings: dict[int, Meeting] = {}


def meeting(workers: int) -> Meeting:
    """The meeting of this process for so many workers: whoever asks first makes it.

    A process measures one cell, so there is one.
    """
    with _first:
        return _meetings.setdefault(workers, Meeting(workers))
