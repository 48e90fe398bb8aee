"""The closed loop: every lane always has a request in flight.

It measures capacity. It sends less while the server is slow, so its latency says little about what
users would see.
"""

import time
from collections.abc import Callable, Sequence

from workers.services.load.lane import Lane
from workers.services.load.tally import Tally


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
