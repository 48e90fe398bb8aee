"""The closed loop (each lane always has a request in flight) and the open loop (by a schedule).

An open loop has a timer for absolute times, as exact as the system allows. The loops' own timers
have a resolution of 1 ms. A timerfd, read through `add_reader`, wakes the loop within tens of µs
and costs a system call to set.
"""

import asyncio
import ctypes
import os
import platform
import struct
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from workers.services.load.lane import Lane
from workers.services.load.tally import Tally, Window

# -------------------------------------------------------------------------------------------- timer


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
        self.close()
        wait_ns = at_ns - time.monotonic_ns()
        if wait_ns > 0:
            self._handle = self._loop.call_later(wait_ns / 1e9, self._call)
        else:
            self._handle = self._loop.call_soon(self._call)

    def close(self) -> None:
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
            """Set the time, which also clears an expiry: the file need not be read."""
            os.timerfd_settime_ns(self._fd, flags=os.TFD_TIMER_ABSTIME, initial=max(1, at_ns))

        def close(self) -> None:
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


# -------------------------------------------------------------------------------------- closed loop
# The closed loop: every lane always has a request in flight.
#
# It measures capacity. It sends less while the server is slow, so its latency says little about
# what users would see.


class ClosedLoop:
    """Sends on each lane as soon as it is free."""

    timer_kind = None  # nothing is due

    def __init__(
        self,
        draw: Callable[[], int],
        tally: Tally,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._draw = draw
        self._tally = tally
        self._clock = clock

    def begin(self, lanes: Sequence[Lane]) -> None:
        """Start with these lanes, all idle."""
        for lane in lanes:
            self.freed(lane)

    def freed(self, lane: Lane) -> None:
        """Send the next request, until the last instant."""
        now_ns = self._clock()
        if now_ns < self._tally.closes_ns:
            position = self._draw()
            lane.send(position, now_ns, self._tally.take(now_ns, position))

    def finish(self) -> None:
        """Do nothing: no request is due that was not sent."""


# ---------------------------------------------------------------------------------------- open loop

AT_A_TIME = 64  # requests that may be due at once before answers are read again
WAKE_UP_NS = 60_000  # from a timer to its callback, on a machine that idles
WAITING_MOST = 0.02  # of the time: what a generator may spend on waiting in a loop


def early_ns(rate_per_s: float) -> int:
    """The lead (ns) of the timer before a request is due; the generator spins for the rest.

    At high rates there is no time for it, and no need: a busy generator does not fall asleep.
    """
    return int(min(WAKE_UP_NS, WAITING_MOST * 1e9 / rate_per_s))


WAITING = -1  # in place of a time


class Sender(Protocol):
    """A sender of one request at a time: a lane, or a room.

    `sent_ns` is `WAITING` if the last one is not sent yet; the sender then records its slip.
    """

    sent_ns: int

    def send(self, position: int, due_ns: int, window: Window) -> None:
        """Send the request at a position in the list; this sender is idle."""


class OpenLoop:
    """Takes requests from the schedule when they are due and gives each to a free lane.

    Slip is recorded for every request: until it was sent or, if all lanes were busy, until it was
    taken into the queue. So a stall of the generator shows in either case.
    """

    def __init__(
        self,
        due_ns: Iterator[int],
        draw: Callable[[], int],
        tally: Tally,
        clock: Callable[[], int] = time.monotonic_ns,
        make_timer: Callable[[Callable[[], None]], Timer] = new_timer,
        early_ns: int = 0,
    ) -> None:
        """`due_ns` are absolute and end no earlier than the tally's last instant."""
        self._schedule = due_ns
        self._draw = draw
        self._tally = tally
        self._clock = clock
        self._early_ns = early_ns
        self._next_ns = next(due_ns)
        self._free: deque[Sender] = deque()  # the one that waits longest comes first
        self._queue: deque[tuple[int, int, Window]] = deque()  # position, due time, window
        self._timer = make_timer(self.take_due)
        self.timer_kind = self._timer.kind

    def begin(self, lanes: Sequence[Sender]) -> None:
        """Start with these lanes, all idle."""
        self._free.extend(lanes)
        self._timer.set(self._next_ns - self._early_ns)

    def take_due(self) -> None:
        """Take what is due and set the timer for what is next."""
        due_ns, now_ns = self._next_ns, self._clock()
        closes_ns, free = self._tally.closes_ns, self._free
        while due_ns - self._early_ns <= now_ns < due_ns:
            now_ns = self._clock()
        for _ in range(AT_A_TIME):
            if due_ns > now_ns or due_ns >= closes_ns:
                break
            position = self._draw()
            window = self._tally.take(due_ns, position)
            if free:
                lane = free.popleft()
                lane.send(position, due_ns, window)
                if lane.sent_ns != WAITING:
                    window.slip.record(lane.sent_ns - due_ns)
            else:
                self._queue.append((position, due_ns, window))
                window.slip.record(now_ns - due_ns)
            due_ns = next(self._schedule)
            now_ns = self._clock()
        self._next_ns = due_ns
        if due_ns < closes_ns:
            self._timer.set(due_ns - self._early_ns)
        else:
            self._timer.close()

    def freed(self, lane: Sender) -> None:
        """Give an idle lane the request that has waited longest."""
        if self._queue:
            lane.send(*self._queue.popleft())
        else:
            self._free.append(lane)

    def finish(self) -> None:
        """Count everything that was due and not sent before the last instant as censored."""
        while self._next_ns < self._tally.closes_ns:
            position = self._draw()
            window = self._tally.take(self._next_ns, position)
            self._queue.append((position, self._next_ns, window))
            window.slip.record(self._tally.closes_ns - self._next_ns)
            self._next_ns = next(self._schedule)
        self._timer.close()
        while self._queue:
            _, due_ns, window = self._queue.popleft()
            self._tally.censor(window, due_ns, first_ns=0)
