"""Open and closed loop against a simulated server, in virtual time: exact and without waiting."""

import heapq
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import count, repeat
from typing import Any

from workers.services.load.lane import Lane
from workers.services.load.sending import ClosedLoop, OpenLoop
from workers.services.load.summary import summarize
from workers.services.load.tally import Tally, Window

SECOND_NS = 10**9
type Span = tuple[int, int]  # virtual ns


class Clock:
    """Virtual time: runs what was planned, in order. The generator may be stopped for a span."""

    def __init__(self, stopped: Span = (0, 0)) -> None:
        self.now_ns = 0
        self._stopped = stopped
        self._plans: list[tuple[int, int, Callable[[], None]]] = []
        self._number = count()

    def at(self, when_ns: int, call: Callable[[], None]) -> None:
        """Call the generator at a time, or when it runs again."""
        begins, ends = self._stopped
        when_ns = ends if begins <= when_ns < ends else when_ns
        heapq.heappush(self._plans, (max(when_ns, self.now_ns), next(self._number), call))

    def run_until(self, end_ns: int) -> None:
        """Let time pass."""
        while self._plans and self._plans[0][0] < end_ns:
            self.now_ns, _, call = heapq.heappop(self._plans)
            call()
        self.now_ns = end_ns

    def read(self) -> int:
        """The time, as `time.monotonic_ns` gives it."""
        return self.now_ns


class Server:
    """Serves one request at a time in the order they come; `stopped` for a span."""

    def __init__(self, service_ns: Iterator[int], stopped: Span = (0, 0)) -> None:
        self._service_ns = service_ns
        self._stopped = stopped
        self._free_ns = 0

    def done_ns(self, came_ns: int) -> int:
        """When a request that comes now is answered."""
        begins, ends = self._stopped
        self._free_ns = max(self._free_ns, came_ns) + next(self._service_ns)
        if begins < self._free_ns <= ends or (begins <= came_ns < ends):
            self._free_ns = max(self._free_ns, ends)
        return self._free_ns


class SimulatedTimer:
    """Calls back in virtual time."""

    kind = "simulated"

    def __init__(self, clock: Clock, call: Callable[[], None]) -> None:
        self._clock = clock
        self._call = call

    def set(self, at_ns: int) -> None:
        """Call back then."""
        self._clock.at(at_ns, self._call)

    def close(self) -> None:
        """Nothing to close."""


class SimulatedLane(Lane):
    """A connection to a simulated server; None never answers."""

    def __init__(self, clock: Clock, server: Server | None, tally: Tally) -> None:
        self._clock = clock
        self._server = server
        self._tally = tally
        self.window = self.connection = None
        self.first_ns, self._others = 0, {}

    def send(self, position: int, due_ns: int, window: Window) -> None:
        self.due_ns, self.window = due_ns, window
        self.sent_ns = self._clock.now_ns
        if self._server:
            self._clock.at(self._server.done_ns(self.sent_ns), self._answered)

    def _answered(self) -> None:
        self._settle("")

    def _settle(self, error: str, *, declined: bool = False) -> None:
        window, self.window = self.window, None
        assert window
        assert self._freed
        done_ns = self._clock.now_ns
        assert self._tally
        self._tally.settle(window, self.due_ns, self.sent_ns, done_ns, error)
        self._freed(self)

    def _hang_up(self) -> None:
        """Nothing to close."""


def simulate(
    due_ns: Iterator[int] | None,
    servers: Sequence[Server | None],
    seconds: int,
    *,
    stopped: Span = (0, 0),
    positions: Iterator[int] | None = None,
    background: Collection[int] = (),
) -> dict[str, Any]:
    """Send to a server per lane (None: closed loop); return the summary as `--json` has it.

    `positions` are those of the requests in a list, of which some are `background`.
    """
    clock = Clock(stopped)
    tally = Tally([0, seconds * SECOND_NS], background)
    loop: OpenLoop | ClosedLoop
    draw = (positions or repeat(0)).__next__
    if due_ns is None:
        loop = ClosedLoop(draw, tally, clock.read)
    else:
        loop = OpenLoop(due_ns, draw, tally, clock.read, lambda call: SimulatedTimer(clock, call))
    lanes = [SimulatedLane(clock, server, tally) for server in servers]
    for lane in lanes:
        lane.attach(tally, loop.freed)
    loop.begin(lanes)
    clock.run_until(seconds * SECOND_NS)
    loop.finish()
    for lane in lanes:
        lane.finish()
    report = {
        "answered": tally.answered,
        "windows": [window.document() for window in tally.windows],
        "busy_fraction": 0.0,
        "cpu_s": 0.0,
        "timer": loop.timer_kind,
        "python": "",
        "gil": True,
        "loop": "simulated",
        "slice_ns": None,
    }
    return summarize([report], [0, seconds * SECOND_NS], histograms=True)
