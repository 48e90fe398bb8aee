"""The work of an operation besides the loop's own: CPU work, a wait, garbage, live objects."""

import asyncio
from collections.abc import Awaitable, Callable

from workers import Worker

# -------------------------------------------------------------------------------------------- turns
# CPU work that is the same on every build: turns of a pure-Python loop.
#
# Work is counted, not timed: spinning for a given time would count the time that another worker
# holds the GIL as work.

# About one microsecond on the machines of 2025 (3.14, x86-64 at 3–5 GHz); nominal, so that
# "100 µs of work" means the same instructions on every arm.
TURNS_PER_US = 30


def turns(count: int) -> int:
    """Run `count` turns of a loop; the sum is only there to be computed."""
    total = 0
    for k in range(count):
        total += k & 7
    return total


def turns_of(work_us: float) -> int:
    """Number of turns for `work_us` nominal microseconds."""
    return round(work_us * TURNS_PER_US)


async def call_back(worker: Worker, work: Callable[[], object], operations: int = 1) -> None:
    """Call `work` in one callback after another until stopped; each does so many operations."""
    call_soon = asyncio.get_running_loop().call_soon

    def callback() -> None:
        work()
        worker.operations += operations
        if worker.running:
            call_soon(callback)

    call_soon(callback)
    await worker.stopped()


# --------------------------------------------------------------------------------------------- heap
# Live objects: what a collector has to go through although it can free none of them.


def live_objects(count: int) -> list[list[int]]:
    """Make `count` objects that the collector tracks and that live as long as the list."""
    return [[each] for each in range(count)]


# -------------------------------------------------------------------------------------- per request


class PerRequest:
    """The work of a request, on every server. `wait_s`: how long it waits without using the CPU."""

    __slots__ = ("_cycles", "_turns", "wait_s")

    def __init__(self, *, work_us: float = 0.0, wait_ms: float = 0.0, garbage: int = 0) -> None:
        """`work_us` in nominal µs; `garbage` is a number of cyclic objects."""
        self._turns = turns_of(work_us)
        self._cycles = garbage
        self.wait_s = wait_ms / 1e3

    def work(self) -> None:
        """Use the CPU and leave the garbage."""
        if self._turns:
            turns(self._turns)
        if self._cycles:
            make_garbage(self._cycles)

    async def done(self) -> None:
        """Wait, then work."""
        if self.wait_s:
            await asyncio.sleep(self.wait_s)
        self.work()


class Awaited(PerRequest):
    """A request that does something of its workload's own, which may wait."""

    __slots__ = ("_something",)

    def __init__(self, something: Callable[[], Awaitable[None]]) -> None:
        super().__init__()
        self._something = something

    async def done(self) -> None:
        await self._something()


def make_garbage(count: int) -> None:
    """Make `count` objects that only the collector can free: each refers to itself."""
    for _ in range(count):
        cycle: list[object] = []
        cycle.append(cycle)
