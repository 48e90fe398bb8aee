"""Simulated I/O: many operations that only wait for a timer; some fail on purpose."""

import random
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from heapq import heapreplace
from typing import Literal

from workers import Worker, Workload, parameter
from workers.loops import library
from workers.workloads.parts.work import turns, turns_of

Tasks = Literal["few", "each"]

type Operation = Callable[[int], Awaitable[None]]
"""Takes the operation's number, from 0."""


class PlannedError(Exception):
    """Raised by an operation that fails on purpose."""


@dataclass
class Sleep(Workload):
    """Simulated I/O: thousands of sleeps in flight, some of which fail on purpose.

    One operation: one completed sleep, then CPU work if there is any; every 1,000th fails on
    purpose. A planned failure counts as a completed operation, and is also counted in
    `planned_failures_total`; any other number of failures is an error. With `tasks` = `few`, each
    task in flight does its share of operations one after the other. With `each`, every operation is
    a task, and the task that ends starts the next. The figure is not I/O: no operation uses a
    socket or makes a system call.

    `overhead_ns_per_op` is (time taken - ideal time) / operations. The ideal time is that of the
    timers alone: operations × pause / in flight if all pauses are equal. CPU work counts as
    overhead. The figure is the CPU cost of an operation only if the loop is always busy, as with
    the defaults. With few in flight the CPU cost is hidden by the waiting, and the figure is how
    late sleeps end, divided by the number in flight.

    1,000,000 sleeps of 1 ms, 10,000 in flight, 0.1 % failing, are the parameters of johal-2024,
    which claims 12 % more time per operation with 1,000,000 in flight. That program makes a task of
    every operation, as `each` does. (At 1,000,000 in flight `few` and `each` are the same, so
    comparing it with `few` at 10,000 would only show the cost of tasks; see `spawn`.) That program
    cannot finish, since the first failure ends its TaskGroup, and at each wait it adds a callback
    to every task in flight; ours does neither. The 200 × 200 operations of async-tools are `sleeps`
    = 40,000, `sleeps_in_flight` = 200, `pauses` = exponential, `pause_ms` = 5, `fail_every` = 0.

    `timed` records the time from start to end of each operation, in a closed loop: an operation
    starts when the one before it has ended, however late that was. `late_mean_s` and `late_max_s`
    are that time minus the pause. `early_total` counts sleeps that ended too early: uvloop's
    timers have a resolution of 1 ms.
    """

    operation = "sleeps"
    in_flight = "sleeps_in_flight"
    finite = True
    scaled = ("sleeps", "sleeps_in_flight")
    libraries = ("asyncio", "trio", "anyio")
    alone = "its timers go on while it is stopped"

    sleeps: int = parameter(1_000_000, "operations per worker", at_least=1)
    sleeps_in_flight: int = parameter(10_000, "operations in flight per worker", at_least=1)
    pause_ms: float = parameter(1.0, "how long an operation sleeps (on average), ms", at_least=0)
    pauses: Literal["constant", "exponential"] = parameter(
        "constant", "all pauses equal, or drawn from an exponential distribution"
    )
    tasks: Tasks = parameter(
        "few", "few: a task does many operations one after another; each: a task per operation"
    )
    fail_every: int = parameter(1_000, "every n-th operation fails on purpose; 0: none", at_least=0)
    work_us: float = parameter(
        0.0, "CPU work per operation, nominal µs (30 turns of a loop each)", at_least=0
    )
    timed: bool = parameter(False, "record the latency of every operation")
    seed: int = parameter(1, "seed of the exponential pauses; each worker draws its own")

    async def setup(self, worker: Worker) -> None:
        """Draw the worker's own pauses, unless all are equal."""
        self._library = library(worker.loop)
        self._pauses = Pauses(self.pause_ms / 1e3, self._draw(worker.index))
        if (
            self.tasks == "each"
        ):  # computed here, since it takes a second for a million drawn pauses
            self._relayed_s = self._pauses.relayed_s(self.sleeps, self.sleeps_in_flight)

    async def run(self, worker: Worker) -> None:
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

        async def alone(number: int, start_next: Callable[[], None]) -> None:
            # Not with `share`: one more coroutine per operation would add to the overhead.
            nonlocal finished, failed
            try:
                await operation(number)
            except PlannedError:
                failed += 1
            else:
                finished += 1
            start_next()

        if self.tasks == "few":
            await self._library.join(partial(share, numbers) for numbers in self._shares())
        else:
            every = (partial(alone, number) for number in range(self.sleeps))
            await self._library.relay(every, self.sleeps_in_flight)
        return finished, failed

    def _shares(self) -> Iterator[range]:
        """Operation numbers of each task, from 0, divided evenly."""
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
        """Time that the timers alone would take."""
        if self.tasks == "each":
            return self._relayed_s
        return self._pauses.shared_s(self._shares())

    def _operation(self) -> Operation:
        # Local names, and no iterator over pauses in each task: 10,000 of them would cost 4 %.
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

    def _timed(self, operation: Operation, worker: Worker, lateness: "Lateness") -> Operation:
        async def timed(number: int) -> None:
            from_ns = time.monotonic_ns()
            try:
                await operation(number)
            finally:
                took_ns = time.monotonic_ns() - from_ns
                worker.latency(took_ns)
                lateness.add(round(self._pauses.of(number) * 1e9), took_ns)

        return timed


# ------------------------------------------------------------------------------------------- pauses


class Pauses:
    """The pauses of a worker's operations, by number: all equal, or drawn beforehand."""

    def __init__(self, pause_s: float, drawn_s: list[float]) -> None:
        """Use the drawn pauses, one per operation; if empty, all are `pause_s`."""
        self.pause_s = pause_s
        self.drawn_s = drawn_s
        self._ends_s: list[float] = []

    def of(self, number: int) -> float:
        """Return the pause of one operation, s."""
        return self.drawn_s[number] if self.drawn_s else self.pause_s

    def shared_s(self, shares: Iterable[range]) -> float:
        """Seconds until all are done if each share sleeps one after another: the longest share."""
        if self.drawn_s:
            return max(sum(self.drawn_s[share.start : share.stop]) for share in shares)
        return max(map(len, shares)) * self.pause_s

    def relayed_s(self, count: int, in_flight: int) -> float:
        """Seconds that `count` operations take if each that ends starts the next."""
        if not self.drawn_s:
            return -(-count // in_flight) * self.pause_s
        # Kept alive: freeing a list this large would change how glibc's malloc works from then on.
        self._ends_s = [0.0] * min(count, in_flight)
        for pause_s in self.drawn_s:
            heapreplace(self._ends_s, self._ends_s[0] + pause_s)
        return max(self._ends_s)


def exponential_s(count: int, mean_s: float, seed: str) -> list[float]:
    """Draw exponential pauses, s, from a seed."""
    draw = random.Random(seed).expovariate
    drawn_s = [0.0] * count  # allocated at full size: a list that grows frees blocks
    for number in range(count):
        drawn_s[number] = mean_s * draw(1.0)
    return drawn_s


# ----------------------------------------------------------------------------------------- lateness
# Lateness of sleeps: the time they took minus the time requested.

# A sleep that is early by less than this is not: clock resolution and rounding explain it.
TOLERANCE_NS = 1_000


class Lateness:
    """Counts completed sleeps, and by how much they were late or early."""

    __slots__ = ("_count", "_early", "_late_max_ns", "_late_ns")

    def __init__(self) -> None:
        self._count = self._early = 0
        self._late_ns = self._late_max_ns = 0

    def add(self, requested_ns: int, took_ns: int) -> None:
        """Count one sleep."""
        late_ns = took_ns - requested_ns
        self._count += 1
        self._early += late_ns < -TOLERANCE_NS
        self._late_ns += late_ns
        self._late_max_ns = max(self._late_max_ns, late_ns)

    def figures(self) -> dict[str, float]:
        """Return `late_mean_s` (early ends count as negative), `late_max_s` and `early_total`."""
        return {
            "late_mean_s": self._late_ns / max(1, self._count) / 1e9,
            "late_max_s": self._late_max_ns / 1e9,
            "early_total": self._early,
        }
