"""A timer for absolute times, as exact as the system allows.

The loops' own timers have a resolution of 1 ms. A timerfd, read through `add_reader`, wakes the
loop within tens of µs and costs a system call to set.
"""

import asyncio
import os
import sys
import time
from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """Calls back after each `set`, possibly a little too early; the callback sets it again."""

    kind: str

    def set(self, at_ns: int) -> None:
        """Call back at `at_ns` (monotonic); a time that has passed means as soon as possible."""

    def close(self) -> None:
        """Never call back again."""


class LoopTimer:
    """The loop's own timer."""

    kind = "loop"

    def __init__(self, loop: asyncio.AbstractEventLoop, call: Callable[[], object]) -> None:
        self._loop = loop
        self._call = call
        self._handle: asyncio.Handle | None = None

    def set(self, at_ns: int) -> None:
        """Replace what was set before."""
        self.close()
        wait_ns = at_ns - time.monotonic_ns()
        if wait_ns > 0:
            self._handle = self._loop.call_later(wait_ns / 1e9, self._call)
        else:
            self._handle = self._loop.call_soon(self._call)

    def close(self) -> None:
        """Cancel what is set."""
        if self._handle:
            self._handle.cancel()


if sys.version_info >= (3, 13):

    class TimerFd:
        """A timerfd on the monotonic clock."""

        kind = "timerfd"

        def __init__(self, loop: asyncio.AbstractEventLoop, call: Callable[[], object]) -> None:
            self._loop = loop
            flags = os.TFD_NONBLOCK | os.TFD_CLOEXEC
            self._fd = os.timerfd_create(time.CLOCK_MONOTONIC, flags=flags)
            loop.add_reader(self._fd, call)

        def set(self, at_ns: int) -> None:
            """Also clears what has expired: the file need not be read."""
            os.timerfd_settime_ns(self._fd, flags=os.TFD_TIMER_ABSTIME, initial=max(1, at_ns))

        def close(self) -> None:
            """Close the file, once."""
            if self._fd >= 0:
                self._loop.remove_reader(self._fd)
                os.close(self._fd)
                self._fd = -1


def new_timer(call: Callable[[], object]) -> Timer:
    """The most exact timer of the running loop on this system and interpreter."""
    loop = asyncio.get_running_loop()
    if sys.version_info >= (3, 13) and hasattr(os, "timerfd_create"):  # Linux alone has it
        return TimerFd(loop, call)
    return LoopTimer(loop, call)
