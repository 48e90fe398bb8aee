"""What one request costs beside the server itself: CPU work, a wait, garbage for the collector."""

import asyncio

from workers.workloads.parts.turns import turns, turns_of


class PerRequest:
    """The same for every server. `wait_s` is how long a request waits without using the CPU."""

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


def make_garbage(count: int) -> None:
    """Make `count` objects that only the collector can free: each refers to itself."""
    for _ in range(count):
        cycle: list[object] = []
        cycle.append(cycle)
