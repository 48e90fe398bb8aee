"""Each workload here loses time at N > 1 in one known way; `tests.benchmarks.planted` looks for it.

One operation is one callback with about a millisecond of pure Python. What is planted is added only
where there are several workers: at N = 1 each is the same as `Private`.
"""

import asyncio
import gc
import random
import threading
import time
from dataclasses import dataclass
from functools import partial

from workers import Worker, Workload, parameter
from workers.workloads.parts.turns import call_back, turns

TURNS = 30_000
HELD = 0.3
BUFFER_BYTES = 256 * 1024
PAGE_BYTES = 4096
LIVE_OBJECTS = 20_000


@dataclass
class Private(Workload):
    """Nothing is planted."""

    operation = "callbacks"

    async def run(self, worker: Worker) -> None:
        """Schedule one callback after another until stopped."""
        planted = self.planted if worker.workers > 1 else partial(turns, TURNS)
        await call_back(worker, planted)

    def planted(self) -> None:
        """One operation at N > 1."""
        turns(TURNS)


LOCK = threading.Lock()


@dataclass
class Lock(Private):
    """All workers take one lock, each for 30 % of its time.

    The parts before it vary: equal ones would fall into step, and never wait.
    """

    async def setup(self, worker: Worker) -> None:
        """Make a generator of random numbers that no other worker has."""
        self._random = random.Random(worker.index)

    def planted(self) -> None:
        """A part alone, a part with the lock."""
        alone = self._random.uniform(0, 2 * (1 - HELD))
        turns(round(TURNS * alone))
        with LOCK:
            turns(round(TURNS * HELD))


class Common:
    """What all workers write to."""

    value = 0


COMMON = Common()


@dataclass
class Attribute(Private):
    """All workers write one attribute of one object."""

    def planted(self) -> None:
        """One write for every hundred turns."""
        for k in range(TURNS // 100):
            COMMON.value = k
            turns(100)


@dataclass
class Collect(Private):
    """Each worker runs a full collection after each operation, with some objects alive."""

    async def setup(self, worker: Worker) -> None:
        """Make the objects."""
        self._alive = [[worker] for _ in range(LIVE_OBJECTS)]

    def planted(self) -> None:
        """Work, then a collection."""
        turns(TURNS)
        gc.collect()


@dataclass
class Sleep(Private):
    """A callback sleeps for half a millisecond, and with it the loop."""

    def planted(self) -> None:
        """Work, then sleep."""
        turns(TURNS)
        time.sleep(0.0005)


@dataclass
class Buffer(Private):
    """Each message is a fresh buffer of 256 KiB, of which every page is written."""

    def planted(self) -> None:
        """Work, then ten messages."""
        turns(TURNS)
        for _ in range(10):
            buffer = bytearray(BUFFER_BYTES)
            buffer[::PAGE_BYTES] = bytes(BUFFER_BYTES // PAGE_BYTES)


@dataclass
class Unequal(Workload):
    """The first worker has half the work of the others, and waits for them."""

    operation = "callbacks"
    finite = True

    callbacks: int = parameter(400, "operations per worker, of the first half as many", at_least=2)

    async def run(self, worker: Worker) -> None:
        """Do all operations, one callback each."""
        count = self.callbacks
        if worker.workers > 1 and worker.index == 0:
            count //= 2
        for _ in range(count):
            turns(TURNS)
            worker.operations += 1
            await asyncio.sleep(0)
