"""A worker as its workload sees it: what to count on, and when to stop."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from workers.loops.registry import load_loop
from workers.loops.runners import runtime_of
from workers.worker.histogram import Histogram

if TYPE_CHECKING:
    from workers.loops.registry import LoopFactory

SAMPLES_KEPT = 3  # texts of errors: enough to see what went wrong, too few to cost memory


class Worker:
    """One thread, process or sub-interpreter that runs one event loop.

    A workload adds to `operations` and `bytes`, reports what went wrong with `fail`, and, unless
    it is finite, goes on while `running` is true. Figures of its own go into `figures`, the unit
    in the name ("settle_s"); timed cells count with `latency(ns)` how long each operation took.
    `loop` is the loop's name in the cell. A worker that only `serves` others' operations says so
    in `setup`, and none are expected of it.

    Everything here belongs to this worker alone: the counters are read by its own ticks and added
    up only after the window.
    """

    __slots__ = (
        "_histogram",
        "_stopping",
        "bytes",
        "error_samples",
        "errors",
        "figures",
        "index",
        "latency",
        "loop",
        "operations",
        "running",
        "serves",
        "services",
        "workers",
    )

    def __init__(
        self, index: int, workers: int, services: dict[str, list[str]], loop: str = "asyncio"
    ) -> None:
        self.index = index
        self.workers = workers
        self.services = services
        self.loop = loop
        self.operations = 0
        self.bytes = 0
        self.errors = 0
        self.error_samples: list[str] = []
        self.figures: dict[str, float] = {}
        self.serves = False
        self.running = True
        self._histogram = Histogram()
        self.latency = self._histogram.record  # at hand: one call an operation, not two
        self._stopping = runtime_of(loop).event()

    @property
    def loop_factory(self) -> LoopFactory:
        """What makes a loop of the cell's kind, for workloads that make loops.

        Raises:
            UnknownLoopError: trio runs here, which makes no loop of asyncio's kind.
        """
        return load_loop(self.loop)

    def fail(self, what: str) -> None:
        """Count an operation that went wrong, which is never counted as done."""
        self.errors += 1
        if len(self.error_samples) < SAMPLES_KEPT:
            self.error_samples.append(what)

    def finite_figures(self) -> dict[str, float]:
        """Tell the workload's own figures, for the record.

        Raises:
            ValueError: one of them is no number, or is infinite, which JSON cannot tell.
        """
        for name, value in self.figures.items():
            if not _finite(value):
                raise ValueError(f"figures[{name!r}]: expected a finite number, got {value!r}")
        return self.figures

    def latencies(self) -> dict[str, list[int]] | None:
        """Tell the latencies counted, for the record; None without any."""
        return self._histogram.document()

    async def stopped(self) -> None:
        """Return when the worker has been told to stop (for traffic that drives itself)."""
        await self._stopping.wait()

    def stop(self) -> None:
        """Tell the traffic to end; called by the host on the worker's own loop."""
        self.running = False
        self._stopping.set()


def _finite(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
