"""When lanes send: always one request in flight (closed loop), or by a schedule (open loop)."""

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from workers.services.load.lane import Lane
from workers.services.load.tally import Tally, Window
from workers.services.load.timer import Timer, new_timer

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
        """Nothing is due that was not sent."""


# ---------------------------------------------------------------------------------------- open loop

AT_A_TIME = 64  # requests that may be due at once before answers are read again
WAKE_UP_NS = 60_000  # from a timer to its callback, on a machine that idles
WAITING_MOST = 0.02  # of the time: what a generator may spend on waiting in a loop


def early_ns(rate_per_s: float) -> int:
    """How long before a request is due the timer wakes the generator, which waits for the rest.

    At high rates there is no time for it, and no need: a busy generator does not fall asleep.
    """
    return int(min(WAKE_UP_NS, WAITING_MOST * 1e9 / rate_per_s))


WAITING = -1  # in place of a time


class Sender(Protocol):
    """What sends one request at a time: a lane, or a room.

    `sent_ns` is `WAITING` if the last one is not sent yet; the sender then records its slip.
    """

    sent_ns: int

    def send(self, position: int, due_ns: int, window: Window) -> None:
        """Send the request at a position in the list; it is idle."""


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
        """Give a lane that is idle again what has waited longest."""
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
            self._tally.censor(window, due_ns)
