"""Simulated I/O: many operations that wait for a timer, some of which fail on purpose."""

import random
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

from workers import Worker, Workload, parameter
from workers.libraries import library
from workers.workloads.lateness import Lateness
from workers.workloads.turns import turns, turns_of

type Operation = Callable[[int], Awaitable[None]]
"""Takes the operation's number, from 0."""


class PlannedError(Exception):
    """An operation that fails because it was meant to."""


@dataclass
class Sleep(Workload):
    """Sleeps, thousands at a time: I/O that does nothing but take its time.

    One operation: one sleep that is over, followed by CPU work if there is any; every 1,000th
    fails on purpose. A failure that was planned is an operation finished, told apart in
    `planned_failures_total`; any other number of them is an error. Operations in flight are tasks,
    and each does its share of operations one after the other. The figure is not I/O: no socket is
    touched, no system call made for a single operation.

    `overhead_ns_per_op` is (time taken - ideal time) / operations, where the ideal is what the
    longest-sleeping task asked for: operations × pause / in flight for equal pauses. CPU work is in
    it. It is the CPU cost of an operation only where the loop has no rest, as with the defaults;
    with few in flight the cost hides in the waiting, and the figure is how late sleeps end, over
    the number in flight.

    1,000,000 sleeps of 1 ms with 10,000 in flight, 0.1 % failing, are those of seeds/000, which
    claims 12 % more time per operation with 1,000,000 in flight; its program makes a task of every
    operation (what a task costs is `spawn`), and cannot finish, as the first failure ends its
    TaskGroup. 200 × 200 operations of seeds/004 are `sleeps` = 40,000, `sleeps_in_flight` =
    200, `pauses` = exponential, `pause_ms` = 5, `fail_every` = 0.

    `timed` counts what each operation took from its start to its end, closed-loop: an operation
    starts when the one before it has ended, however late that was. `late_mean_s` and `late_max_s`
    are that less what was asked for. `early_total` counts the sleeps that ended too soon: uvloop
    counts whole ms.
    """

    operation = "sleeps"
    in_flight = "sleeps_in_flight"
    finite = True
    scaled = ("sleeps", "sleeps_in_flight")
    libraries = ("asyncio", "trio", "anyio")

    sleeps: int = parameter(1_000_000, "operations per worker", at_least=1)
    sleeps_in_flight: int = parameter(10_000, "operations in flight per worker", at_least=1)
    pause_ms: float = parameter(1.0, "how long an operation sleeps, ms; on average", at_least=0)
    pauses: Literal["constant", "exponential"] = parameter(
        "constant", "whether all sleep equally long"
    )
    fail_every: int = parameter(1_000, "one in so many fails on purpose; 0: none", at_least=0)
    work_us: float = parameter(0.0, "CPU work per operation, nominal µs", at_least=0)
    timed: bool = parameter(False, "whether every operation's latency is recorded")
    seed: int = parameter(1, "what exponential pauses are drawn from, by each worker for itself")

    async def setup(self, worker: Worker) -> None:
        """Draw the worker's own pauses, if they are not all the same."""
        self._library = library(worker.loop)
        self._drawn_s = self._draw(worker.index) if self.pauses == "exponential" else []

    async def run(self, worker: Worker) -> None:
        """Do all operations, count them and hold the counts against the plan."""
        finished = failed = 0
        operation, lateness = self._operation(), Lateness()
        if self.timed:
            operation = self._timed(operation, worker, lateness)

        async def share(numbers: range) -> None:
            nonlocal finished, failed
            for number in numbers:
                try:
                    await operation(number)
                except PlannedError:
                    failed += 1
                else:
                    finished += 1

        from_ns = time.monotonic_ns()
        await self._library.join(partial(share, numbers) for numbers in self._shares())
        took_s = (time.monotonic_ns() - from_ns) / 1e9
        worker.operations += finished + failed
        worker.figures["planned_failures_total"] = failed
        worker.figures["overhead_ns_per_op"] = (took_s - self._ideal_s()) / self.sleeps * 1e9
        if self.timed:
            worker.figures |= lateness.figures()
        planned = self.sleeps // self.fail_every if self.fail_every else 0
        if (finished, failed) != (self.sleeps - planned, planned):
            worker.fail(
                f"{finished} operations finished and {failed} failed, "
                f"instead of {self.sleeps - planned} and {planned}"
            )

    def _shares(self) -> Iterator[range]:
        """Each task's operations, dealt out evenly: their numbers, the first of all is 0."""
        each, rest = divmod(self.sleeps, self.sleeps_in_flight)
        first = 0
        for task in range(min(self.sleeps, self.sleeps_in_flight)):
            numbers = range(first, first + each + (task < rest))
            yield numbers
            first = numbers.stop

    def _draw(self, index: int) -> list[float]:
        """Exponential pauses, s, one for each operation of the worker with this index."""
        draw = random.Random(f"{self.seed}/{index}").expovariate
        drawn_s = [0.0] * self.sleeps  # at its full size at once: a list that grows frees blocks
        for number in range(self.sleeps):
            drawn_s[number] = self.pause_ms / 1e3 * draw(1.0)
        return drawn_s

    def _pause_s(self, number: int) -> float:
        return self._drawn_s[number] if self._drawn_s else self.pause_ms / 1e3

    def _ideal_s(self) -> float:
        """How long it takes if nothing but the timers does: as long as the longest share sleeps."""
        if self._drawn_s:
            return max(sum(self._drawn_s[share.start : share.stop]) for share in self._shares())
        return max(map(len, self._shares())) * self.pause_ms / 1e3

    def _operation(self) -> Operation:
        # Local names, and no iterator of pauses in each task: 10,000 of those cost 4 %.
        sleep, pause_s, drawn_s = self._library.sleep, self.pause_ms / 1e3, self._drawn_s
        work_turns, fail_every = turns_of(self.work_us), self.fail_every

        async def operation(number: int) -> None:
            await sleep(drawn_s[number] if drawn_s else pause_s)
            if work_turns:
                turns(work_turns)
            if fail_every and (number + 1) % fail_every == 0:
                raise PlannedError

        return operation

    def _timed(self, operation: Operation, worker: Worker, lateness: Lateness) -> Operation:
        async def timed(number: int) -> None:
            from_ns = time.monotonic_ns()
            try:
                await operation(number)
            finally:
                took_ns = time.monotonic_ns() - from_ns
                worker.latency(took_ns)
                lateness.add(round(self._pause_s(number) * 1e9), took_ns)

        return timed
