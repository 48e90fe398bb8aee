"""Callbacks sent from one worker's loop to another's with `call_soon_threadsafe`."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from workers import Worker, Workload, parameter
from workers.worker.shared import meeting


@dataclass
class Handoff(Workload):
    """Handoff between loops: `call_soon_threadsafe` into another worker's loop, acknowledged.

    One operation: one callback sent to another loop and run there, counted by its sender. A sender
    has at most `on_the_way` callbacks in flight, in two batches. The last callback of a batch sends
    one acknowledgement back, upon which the sender sends the next batch. So the figure is the
    throughput of a full pipeline, not the time of one handoff, and includes 2 / `on_the_way`
    acknowledgements per operation. A callback is one bound method whose reference count both loops
    change, without data: the smallest possible handoff.

    With `into-one`, N - 1 loops send to the first (N = 2 is 1→1, N = 5 is 4→1), which counts no
    operations itself; in a `ring` each loop sends to the next. With N = 1 the loop sends to itself
    through the same call, which wakes its own selector each time. A timer of 10 ms on each
    receiving loop shows how long other work on that loop has to wait: `timer_late_mean_s` and
    `timer_late_max_s`, over the whole traffic, by the system's monotonic clock.
    """

    operation = "handoffs"
    in_flight = "on_the_way"
    alone = "the timers that show how long callbacks wait go on while it is stopped"

    pattern: Literal["into-one", "ring"] = parameter("into-one", "which loop sends to which")
    on_the_way: int = parameter(
        64, "callbacks per worker that are sent and not yet acknowledged", at_least=1
    )
    timer_s: float = parameter(0.010, "period of the timer on a receiving loop, s", at_least=0.001)

    @classmethod
    def refuses(cls, model: str, _loop: str) -> str | None:
        if model == "threads":
            return None
        return "loops can call into each other only inside one interpreter: use threads"

    def uneven(self) -> str | None:
        """With `into-one`, the receiving worker has nothing in flight."""
        if self.pattern == "into-one":
            return "the worker that all others send to sends nothing, so its share would be missing"
        return None

    async def setup(self, worker: Worker) -> None:
        """Get the other workers' loops; determine whether this one sends, receives, or both."""
        alone = worker.workers == 1
        into_one = self.pattern == "into-one" and not alone
        self._receives = not into_one or worker.index == 0
        self._sender: Sender | None = None
        worker.serves = into_one and self._receives
        self._meeting = meeting(worker.workers)
        loops = await self._meeting.join(worker.index)
        if not worker.serves:
            to = 0 if into_one else (worker.index + 1) % worker.workers
            self._sender = Sender(worker, loops[to])

    async def run(self, worker: Worker) -> None:
        """Send until stopped, then wait until the last callback is acknowledged."""
        timekeeper = Timekeeper(self.timer_s) if self._receives else None
        if self._sender is not None:
            self._sender.begin(self.on_the_way)
        await worker.stopped()
        if timekeeper is not None:
            worker.figures |= timekeeper.stop()
        if self._sender is not None:
            await self._sender.over.wait()

    async def teardown(self, worker: Worker) -> None:
        """Keep the loop open until no other worker sends to it any more."""
        await self._meeting.leave()


class Sender:
    """Sends callbacks to one loop in two batches; each is sent again once it has run."""

    def __init__(self, worker: Worker, to: asyncio.AbstractEventLoop) -> None:
        self._worker = worker
        self._to = to
        self._tally = Tally(asyncio.get_running_loop(), self._acknowledged)
        self._sent = 0
        self.over = asyncio.Event()

    def begin(self, on_the_way: int) -> None:
        """Send the first two batches."""
        second = on_the_way // 2
        self._send(on_the_way - second)
        if second:
            self._send(second)

    def _send(self, count: int) -> None:
        hand_over, run = self._to.call_soon_threadsafe, self._tally.run
        for _ in range(count - 1):
            hand_over(run)
        hand_over(self._tally.run_last, count)
        self._sent += count

    def _acknowledged(self, count: int, ran: int) -> None:
        worker = self._worker
        if ran == count:
            worker.operations += count
        else:
            worker.fail(f"{ran} of {count} callbacks ran")
        self._sent -= count
        if worker.running:
            self._send(count)
        elif self._sent == 0:
            self.over.set()


class Tally:
    """Counts a sender's callbacks on the receiving loop, which alone touches it."""

    __slots__ = ("_answer", "_back", "_ran")

    def __init__(
        self, back: asyncio.AbstractEventLoop, answer: Callable[[int, int], object]
    ) -> None:
        self._back = back
        self._answer = answer
        self._ran = 0

    def run(self) -> None:
        """Count one callback."""
        self._ran += 1

    def run_last(self, count: int) -> None:
        """Count the last callback of a batch of `count`, and acknowledge the batch."""
        ran, self._ran = self._ran + 1, 0
        self._back.call_soon_threadsafe(self._answer, count, ran)


class Timekeeper:
    """A periodic timer that notes how late it runs: what a busy loop does to other work on it.

    It fires every `period_s` on the running loop, from its creation until `stop`.

    Lateness counts from the due time, however late the previous firing was (no coordinated
    omission), by `time.monotonic`: a loop's own clock may stand still while it is busy. A timer
    that fires early (uvloop's have a resolution of 1 ms) counts as on time.
    """

    def __init__(self, period_s: float) -> None:
        self._period_s = period_s
        self._loop = asyncio.get_running_loop()
        self._due_s = time.monotonic()
        self._late_s: list[float] = []
        self._arm()

    def stop(self) -> dict[str, float]:
        """Stop; return `timer_late_mean_s` and `timer_late_max_s`.

        A firing that is due and has not happened counts with its lateness so far.
        """
        self._handle.cancel()
        waiting_s = time.monotonic() - self._due_s
        late_s = [*self._late_s, waiting_s] if waiting_s > 0 else self._late_s or [0.0]
        return {
            "timer_late_mean_s": sum(late_s) / len(late_s),
            "timer_late_max_s": max(late_s),
        }

    def _arm(self) -> None:
        self._due_s += self._period_s
        delay_s = self._due_s - time.monotonic()
        self._handle = self._loop.call_at(self._loop.time() + delay_s, self._fire)

    def _fire(self) -> None:
        self._late_s.append(max(0.0, time.monotonic() - self._due_s))
        self._arm()
