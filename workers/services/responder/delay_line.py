"""Answers on their way out: each leaves when its delay is over, and never before."""

import asyncio
import time
from collections import deque

SHORTEST_S = 0.001  # uvloop's clock counts whole ms: less would be none, and the wait would spin


class DelayLine:
    """Sends what it is given `delay_s` later.

    All wait equally long, so they leave in the order in which they came, and one timer at a time
    is enough for any number of connections.
    """

    def __init__(self, delay_s: float) -> None:
        self._delay_s = delay_s
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[float, asyncio.WriteTransport, bytes]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def send(self, transport: asyncio.WriteTransport, answer: bytes) -> None:
        """Send an answer when its time has come, if anybody is still there to hear it."""
        if not self._delay_s:
            transport.write(answer)
            return
        self._waiting.append((time.monotonic() + self._delay_s, transport, answer))
        if self._timer is None:
            self._wait(self._delay_s)

    def close(self) -> None:
        """Send nothing any more."""
        self._waiting.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _wait(self, left_s: float) -> None:
        self._timer = self._loop.call_later(max(left_s, SHORTEST_S), self._send_due)

    def _send_due(self) -> None:
        now = time.monotonic()  # timers may fire early: what is not due yet waits for the next one
        waiting = self._waiting
        while waiting and waiting[0][0] <= now:
            _, transport, answer = waiting.popleft()
            if not transport.is_closing():
                transport.write(answer)
        self._timer = None
        if waiting:
            self._wait(waiting[0][0] - now)
