"""A worker as its workload sees it: what to count on, and when to stop."""

import asyncio

SAMPLES_KEPT = 3  # texts of errors: enough to see what went wrong, too few to cost memory


class Worker:
    """One thread, process or sub-interpreter that runs one event loop.

    A workload adds to `operations` and `bytes`, reports what went wrong with `fail`, and goes on
    while `running` is true. Everything here belongs to this worker alone: the counters are read
    by its own ticks and added up only after the window.
    """

    __slots__ = (
        "_stopped",
        "bytes",
        "error_samples",
        "errors",
        "index",
        "operations",
        "running",
        "services",
        "workers",
    )

    def __init__(self, index: int, workers: int, services: dict[str, list[str]]) -> None:
        self.index = index
        self.workers = workers
        self.services = services
        self.operations = 0
        self.bytes = 0
        self.errors = 0
        self.error_samples: list[str] = []
        self.running = True
        self._stopped = asyncio.Event()

    def fail(self, what: str) -> None:
        """Count an operation that went wrong, which is never counted as done."""
        self.errors += 1
        if len(self.error_samples) < SAMPLES_KEPT:
            self.error_samples.append(what)

    async def stopped(self) -> None:
        """Return when the worker has been told to stop (for traffic that drives itself)."""
        await self._stopped.wait()

    def stop(self) -> None:
        """Tell the traffic to end; called by the host on the worker's own loop."""
        self.running = False
        self._stopped.set()
