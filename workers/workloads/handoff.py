"""Callbacks sent from one worker's loop to another's, with `call_soon_threadsafe`."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from workers import Worker, Workload, parameter
from workers.workloads.parts.meeting import meeting
from workers.workloads.parts.timekeeper import Timekeeper


@dataclass
class Handoff(Workload):
    """Handing over: `call_soon_threadsafe` into another worker's loop, bounded, with a way back.

    One operation: one callback sent to another loop and run there, counted by its sender. A sender
    has `on_the_way` of them at most: they go in two batches, and the last callback of a batch sends
    one callback back, on which the next batch goes. So the figure is the throughput of a full
    pipeline, not how long one crossing takes, and 2 / `on_the_way` of an answer belongs to each
    operation. What crosses is one function object that both loops count references to: the least
    that a handoff can be, nothing is carried along.

    `into-one` is N - 1 loops sending to the first (N = 2 is 1→1, N = 5 is 4→1), which counts
    nothing itself; in a `ring` each sends to the next. N = 1 sends to itself through the same call,
    which wakes its own selector each time. A timer of 10 ms on each loop that receives tells how
    fair the crossing is to what else the loop has to do: `timer_late_mean_s` and
    `timer_late_max_s`, from the start of traffic to its end, by the clock and not by the loop's.
    """

    operation = "handoffs"
    in_flight = "on_the_way"

    pattern: Literal["into-one", "ring"] = parameter("into-one", "who sends to whom")
    on_the_way: int = parameter(64, "callbacks sent and not yet known to have run", at_least=1)
    timer_s: float = parameter(0.010, "period of the timer on a receiving loop, s", at_least=0.001)

    @classmethod
    def refuses(cls, model: str, loop: str) -> str | None:
        """Only threads can call into each other's loops."""
        del loop
        if model == "threads":
            return None
        return "loops can call into each other inside one interpreter only: threads"

    def uneven(self) -> str | None:
        """Where all send to one, that one has nothing on the way."""
        if self.pattern == "into-one":
            return "the worker that all others send to would keep its share, not send it"
        return None

    async def setup(self, worker: Worker) -> None:
        """Meet the other loops; find out whether this one sends, receives, or both."""
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
        """Send until stopped, and then until the last callback is known to have run."""
        timekeeper = Timekeeper(self.timer_s) if self._receives else None
        if self._sender is not None:
            self._sender.begin(self.on_the_way)
        await worker.stopped()
        if timekeeper is not None:
            worker.figures |= timekeeper.stop()
        if self._sender is not None:
            await self._sender.over.wait()

    async def teardown(self, worker: Worker) -> None:
        """Keep the loop for who still sends to it; leave with all the others."""
        await self._meeting.leave()


class Sender:
    """One worker's callbacks to one loop: two batches of them, one sent again when it has run."""

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
            worker.fail(f"{ran} callbacks ran of {count} that were handed over")
        self._sent -= count
        if worker.running:
            self._send(count)
        elif self._sent == 0:
            self.over.set()


class Tally:
    """What a sender's callbacks do on the loop that they were handed to; touched by that alone."""

    __slots__ = ("_answer", "_back", "_ran")

    def __init__(
        self, back: asyncio.AbstractEventLoop, answer: Callable[[int, int], object]
    ) -> None:
        self._back = back
        self._answer = answer
        self._ran = 0

    def run(self) -> None:
        """Be run: that is all."""
        self._ran += 1

    def run_last(self, count: int) -> None:
        """Be the last of `count`, and tell the sender how many have run."""
        ran, self._ran = self._ran + 1, 0
        self._back.call_soon_threadsafe(self._answer, count, ran)
