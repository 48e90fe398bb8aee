"""A worker as its workload sees it: counters to add to, and whether to go on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from workers.loops import load_loop, runner_for

if TYPE_CHECKING:
    import socket

    from workers.loops import LoopFactory


# ---------------------------------------------------------------------------------------- histogram
# A histogram of latencies has a fixed size: a million of them need no more memory than one.
#
# Buckets are those of the HDR histogram (Gil Tene, hdrhistogram.org): their width grows with the
# value at a fixed relative precision, and the bucket is found by shifting, without a logarithm.

PRECISION_BITS = 7  # a bucket is at most 2**-7 of its value wide: 0.8 %
EXACT_BITS = PRECISION_BITS + 1  # values of up to this many bits have a bucket each
LARGEST_NS = (1 << 44) - 1  # nearly five hours; longer latencies count as this
SIZE = (44 - EXACT_BITS + 2) << PRECISION_BITS  # 4,864 buckets, 38 KiB


class Histogram:
    """Counts of values in ns; values below 256 ns are exact, others within 0.8 %.

    All histograms have the same buckets, so they merge by adding their counts.
    """

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: list[int] = []  # allocated at the first value: most workers have none

    def record(self, ns: int) -> None:
        """Count one value; below 0 counts as 0, too large as the largest."""
        if ns < 0:
            ns = 0
        shift = ns.bit_length() - EXACT_BITS
        try:
            if shift > 0:
                self._counts[(shift << PRECISION_BITS) + (ns >> shift)] += 1
            else:
                self._counts[ns] += 1
        except IndexError:
            self._counts = self._counts or [0] * SIZE
            self.record(min(ns, LARGEST_NS))

    def document(self) -> dict[str, list[int]] | None:
        """Return the non-empty buckets: lower edges in ns and counts; None if there are none."""
        filled = [(lower_edge_ns(k), count) for k, count in enumerate(self._counts) if count]
        if not filled:
            return None
        return {"value_ns": [edge for edge, _ in filled], "count": [count for _, count in filled]}


def lower_edge_ns(bucket: int) -> int:
    """The smallest value in a bucket, ns."""
    shift = max(0, (bucket >> PRECISION_BITS) - 1)
    return (bucket - (shift << PRECISION_BITS)) << shift


# ------------------------------------------------------------------------------------------- handle

SAMPLES_KEPT = 3  # error messages per worker: enough to see what failed, too few to cost memory


class Worker:
    """One thread, process or sub-interpreter that runs one event loop.

    A workload adds to `operations` and `bytes`, reports errors with `fail`, and, unless it is
    finite, runs while `running` is true. It may put figures of its own into `figures`, with the
    unit in the name ("settle_s"). A timed workload calls `latency(ns)` for each operation. `loop`
    is the loop's name in the cell. A worker that only `serves` the operations of others sets that
    in `setup`; no operations are expected of it. A served workload finds in `inbound` the policy
    and the socket by which connections reach this worker.

    Everything here belongs to this worker alone: its own ticks read the counters, and they are
    added up only after the window.
    """

    __slots__ = (
        "_histogram",
        "_stopping",
        "bytes",
        "error_samples",
        "errors",
        "figures",
        "inbound",
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
        self.inbound: tuple[str, socket.socket] | None = None
        self.serves = False
        self.running = True
        self._histogram = Histogram()
        self.latency = self._histogram.record  # bound once: one call per operation, not two
        self._stopping = runner_for(loop).event()

    @property
    def loop_factory(self) -> LoopFactory:
        """The factory of the cell's kind of loop, for workloads that make their own loops.

        Raises:
            UnknownLoopError: the cell's loop is trio, which has no asyncio loop.
        """
        return load_loop(self.loop)

    def fail(self, error: str) -> None:
        """Count a failed operation, which is never counted as done."""
        self.errors += 1
        self.note(error)

    def note(self, error: str) -> None:
        """Keep the words of an error that somebody else counts."""
        if len(self.error_samples) < SAMPLES_KEPT:
            self.error_samples.append(error)

    def finite_figures(self) -> dict[str, float]:
        """Return the workload's own figures for the record.

        Raises:
            ValueError: one of them is not a finite number, which JSON cannot hold.
        """
        for name, value in self.figures.items():
            if not _finite(value):
                raise ValueError(f"figures[{name!r}]: expected a finite number, got {value!r}")
        return self.figures

    def latencies(self) -> dict[str, list[int]] | None:
        """Return the latency histogram for the record; None if nothing was timed."""
        return self._histogram.document()

    async def stopped(self) -> None:
        """Wait until the worker has to stop (for traffic that drives itself)."""
        await self._stopping.wait()

    def stop(self) -> None:
        """Make the traffic end; called by the session on the worker's own loop."""
        self.running = False
        self._stopping.set()


def _finite(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
