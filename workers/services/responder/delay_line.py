"""A queue of answers: each is sent when its delay has passed, never before."""

import asyncio
import random
import time
from collections import deque

SEED = 1  # of the delays
SHORTEST_S = 0.001  # uvloop's timers have a resolution of 1 ms: shorter waits would spin


class DelayLine:
    """Sends each answer `delay_s` later.

    All wait equally long, so they are sent in the order in which they arrived, and a single timer
    is enough for any number of connections. With a `spread`, delays are log-normal: `delay_s` is
    their median, `spread` the standard deviation of their logarithm, and each has its own timer.
    """

    def __init__(self, delay_s: float, spread: float = 0.0) -> None:
        self._delay_s = delay_s
        self._spread = spread
        self._factor = random.Random(SEED).lognormvariate
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[float, asyncio.WriteTransport, bytes]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def send(self, transport: asyncio.WriteTransport, answer: bytes) -> None:
        """Send an answer after the delay, if the connection is still open."""
        if not self._delay_s:
            transport.write(answer)
            return
        if self._spread:
            delay_s = self._delay_s * self._factor(0.0, self._spread)
            self._loop.call_later(delay_s, self._send, transport, answer)
            return
        self._waiting.append((time.monotonic() + self._delay_s, transport, answer))
        if self._timer is None:
            self._wait(self._delay_s)

    def close(self) -> None:
        """Drop the answers that are waiting."""
        self._waiting.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _wait(self, left_s: float) -> None:
        self._timer = self._loop.call_later(max(left_s, SHORTEST_S), self._send_due)

    def _send(self, transport: asyncio.WriteTransport, answer: bytes) -> None:
        if not transport.is_closing():
            transport.write(answer)

    def _send_due(self) -> None:
        now = time.monotonic()  # timers may fire early: what is not due waits for the next one
        waiting = self._waiting
        while waiting and waiting[0][0] <= now:
            _, transport, answer = waiting.popleft()
            self._send(transport, answer)
        self._timer = None
        if waiting:
            self._wait(waiting[0][0] - now)
