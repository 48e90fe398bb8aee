"""CPU work that is the same on every build: turns of a pure-Python loop.

Work is counted, not timed: spinning for a given time would count the time that another worker
holds the GIL as work.
"""

import asyncio
from collections.abc import Callable

from workers import Worker

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


async def call_back(worker: Worker, work: Callable[[], object]) -> None:
    """Call `work` in one callback after another until stopped; each is an operation."""
    call_soon = asyncio.get_running_loop().call_soon

    def callback() -> None:
        work()
        worker.operations += 1
        if worker.running:
            call_soon(callback)

    call_soon(callback)
    await worker.stopped()
