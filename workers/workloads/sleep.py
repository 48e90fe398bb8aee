"""Simulated I/O: many operations that wait for a timer, some of which fail on purpose."""

import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

from workers import Worker, Workload, parameter
from workers.loops.libraries import library
from workers.workloads.parts.lateness import Lateness
from workers.workloads.parts.pauses import Pauses, exponential_s
from workers.workloads.parts.turns import turns, turns_of

Tasks = Literal["few", "each"]

type Operation = Callable[[int], Awaitable[None]]
"""Takes the operation's number, from 0."""


class PlannedError(Exception):
    """An operation that fails because it was meant to."""


@dataclass
class Sleep(Workload):
    """Sleeps, thousands at a time: I/O that does nothing but take its time.

    One operation: one sleep that is over, followed by CPU work if there is any; every 1,000th
    fails on purpose. A failure that was planned is an operation finished, told apart in
    `planned_failures_total`; any other number of them is an error. Operations in flight are tasks:
    `few`, and each does its share of operations one after the other, or one task for `each`
    operation, and a task that ends starts the next. The figure is not I/O: no socket is touched,
    no system call made for a single operation.

    `overhead_ns_per_op` is (time taken - ideal time) / operations, where the ideal is how long it
    takes if nothing but the timers does: operations × pause / in flight for equal pauses. CPU work
    is in it. It is the CPU cost of an operation only where the loop has no rest, as with the
    defaults; with few in flight the cost hides in the waiting, and the figure is how late sleeps
    end, over the number in flight.

    1,000,000 sleeps of 1 ms with 10,000 in flight, 0.1 % failing, are those of johal-2024, which
    claims 12 % more time per operation with 1,000,000 in flight. Its program makes a task of every
    operation, and that is `each`: `few` at 10,000 beside it at 1,000,000, where both are the same,
    would tell what tasks cost (`spawn`). It cannot finish, as the first failure ends its TaskGroup,
    and whenever it waits it hangs a callback on every task in flight, which ours does not.
    200 × 200 operations of async-tools are `sleeps` = 40,000, `sleeps_in_flight` = 200, `pauses` =
    exponential, `pause_ms` = 5, `fail_every` = 0.

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
    tasks: Tasks = parameter(
        "few", "whether a task does many operations, one after another, or each has its own"
    )
    fail_every: int = parameter(1_000, "one in so many fails on purpose; 0: none", at_least=0)
    work_us: float = parameter(0.0, "CPU work per operation, nominal µs", at_least=0)
    timed: bool = parameter(False, "whether every operation's latency is recorded")
    seed: int = parameter(1, "what exponential pauses are drawn from, by each worker for itself")

    async def setup(self, worker: Worker) -> None:
        """Draw the worker's own pauses, if they are not all alike."""
        self._library = library(worker.loop)
        self._pauses = Pauses(self.pause_ms / 1e3, self._draw(worker.index))
        if self.tasks == "each":  # worked out now: with a million pauses drawn it takes a second
            self._relayed_s = self._pauses.relayed_s(self.sleeps, self.sleeps_in_flight)

    async def run(self, worker: Worker) -> None:
        """Do all operations, count them and hold the counts against the plan."""
        operation, lateness = self._operation(), Lateness()
        if self.timed:
            operation = self._timed(operation, worker, lateness)
        from_ns = time.monotonic_ns()
        finished, failed = await self._all(operation)
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

    async def _all(self, operation: Operation) -> tuple[int, int]:
        """Do all operations; return how many finished and how many failed as planned."""
        finished = failed = 0

        async def share(numbers: range) -> None:
            nonlocal finished, failed
            for number in numbers:
                try:
                    await operation(number)
                except PlannedError:
                    failed += 1
                else:
                    finished += 1

        async def alone(number: int, follow: Callable[[], None]) -> None:
            # Not by `share`: another coroutine for each operation would cost it.
            nonlocal finished, failed
            try:
                await operation(number)
            except PlannedError:
                failed += 1
            else:
                finished += 1
            follow()

        if self.tasks == "few":
            await self._library.join(partial(share, numbers) for numbers in self._shares())
        else:
            every = (partial(alone, number) for number in range(self.sleeps))
            await self._library.relay(every, self.sleeps_in_flight)
        return finished, failed

    def _shares(self) -> Iterator[range]:
        """Each task's operations, dealt out evenly: their numbers, the first of all is 0."""
        each, rest = divmod(self.sleeps, self.sleeps_in_flight)
        first = 0
        for task in range(min(self.sleeps, self.sleeps_in_flight)):
            numbers = range(first, first + each + (task < rest))
            yield numbers
            first = numbers.stop

    def _draw(self, index: int) -> list[float]:
        """The pauses of the worker with this index, s, one an operation; none if all are alike."""
        if self.pauses == "constant":
            return []
        return exponential_s(self.sleeps, self.pause_ms / 1e3, f"{self.seed}/{index}")

    def _ideal_s(self) -> float:
        """How long it takes if nothing but the timers does."""
        if self.tasks == "each":
            return self._relayed_s
        return self._pauses.dealt_s(self._shares())

    def _operation(self) -> Operation:
        # Local names, and no iterator of pauses in each task: 10,000 of those cost 4 %.
        sleep, pause_s = self._library.sleep, self._pauses.pause_s
        drawn_s = self._pauses.drawn_s
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
                lateness.add(round(self._pauses.of(number) * 1e9), took_ns)

        return timed
