"""A timer for absolute times, as exact as the system allows.

The loops' own timers have a resolution of 1 ms. A timerfd, read through `add_reader`, wakes the
loop within tens of µs and costs a system call to set.
"""

import asyncio
import ctypes
import os
import platform
import struct
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


# --------------------------------------------------------------------------------------- time slice
# A short scheduling slice: on a shared CPU, the generator is put back on it sooner.
#
# Linux grants it without privileges from 6.12 (EEVDF). Elsewhere nothing changes, and what is read
# back says so.

SLICE_NS = 100_000
SYSTEM_CALLS = {"x86_64": (314, 315), "aarch64": (274, 275), "riscv64": (274, 275)}
SCHED_OTHER = 0
# size, policy, flags, nice, priority, runtime (the slice), deadline, period
LAYOUT = struct.Struct("=IIQiIQQQ")


def ask_for_slice(slice_ns: int = SLICE_NS) -> int | None:
    """Ask for a slice for this thread; return what the kernel then has, None if it does not say.

    Threads and processes that are started later inherit it.
    """
    numbers = SYSTEM_CALLS.get(platform.machine())
    if sys.platform != "linux" or numbers is None:
        return None
    call = ctypes.CDLL(None, use_errno=True).syscall
    buffer = ctypes.create_string_buffer(LAYOUT.size)
    read = (numbers[1], 0, buffer, LAYOUT.size, 0)
    if call(*read):
        return None
    _, policy, flags, nice, *_ = LAYOUT.unpack(buffer.raw)
    if policy == SCHED_OTHER:
        buffer.raw = LAYOUT.pack(LAYOUT.size, policy, flags, nice, 0, slice_ns, 0, 0)
        call(numbers[0], 0, buffer, 0)
    if call(*read):
        return None
    return int(LAYOUT.unpack(buffer.raw)[5]) or None
