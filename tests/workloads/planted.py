"""Each workload here loses time at N > 1 in one known way; `tests.benchmarks.planted` looks for it.

One operation is one callback. What costs one worker nothing (a lock that is free) is there at every
N; what costs it something (a sleep) only where there are several workers.
"""

import asyncio
import gc
import random
import socket
import threading
import time
from dataclasses import dataclass

from workers import Worker, Workload, parameter
from workers.workloads.parts.work import call_back, turns

TURNS = 30_000
HELD = 0.3
BUFFER_BYTES, MESSAGE_BYTES, MESSAGES = 256 * 1024, 100_000, 20
LIVE_OBJECTS = 20_000


@dataclass
class Private(Workload):
    """Nothing is planted: about a millisecond of pure Python."""

    operation = "callbacks"

    async def run(self, worker: Worker) -> None:
        """Schedule one callback after another until stopped."""
        await call_back(worker, self.operate if worker.workers > 1 else self.operate_alone)

    def operate(self) -> None:
        """One operation at N > 1."""
        turns(TURNS)

    def operate_alone(self) -> None:
        """One operation at N = 1, where nothing is planted."""
        turns(TURNS)


@dataclass
class Needs(Private):
    """Each operation needs `factor` times the CPU time, at every N; it takes turns with others."""

    alone = None

    factor: float = parameter(1.0, "CPU time of an operation", at_least=0)

    def operate(self) -> None:
        """One operation."""
        turns(round(TURNS * self.factor))

    operate_alone = operate


LOCK = threading.Lock()


@dataclass
class Lock(Private):
    """All workers take one lock, each for 30 % of its time.

    The parts before it vary: equal ones would fall into step, and never wait.
    """

    async def setup(self, worker: Worker) -> None:
        """Make a generator of random numbers that no other worker has."""
        self._random = random.Random(worker.index)

    def operate(self) -> None:
        """A part alone, a part with the lock."""
        alone = self._random.uniform(0, 2 * (1 - HELD))
        turns(round(TURNS * alone))
        with LOCK:
            turns(round(TURNS * HELD))

    operate_alone = operate


class Common:
    """What all workers write to."""

    value = 0


COMMON = Common()


@dataclass
class Attribute(Private):
    """All workers write one attribute of one object."""

    def operate(self) -> None:
        """Write it, and again."""
        common = COMMON
        for k in range(TURNS // 10):
            common.value = k

    operate_alone = operate


@dataclass
class Collect(Private):
    """Each worker runs a full collection after each operation, with some objects alive."""

    async def setup(self, worker: Worker) -> None:
        """Make the objects."""
        self._alive = [[worker] for _ in range(LIVE_OBJECTS)]

    def operate(self) -> None:
        """Work, then a collection."""
        turns(TURNS)
        gc.collect()


@dataclass
class Sleep(Private):
    """A callback sleeps for half a millisecond, and with it the loop."""

    def operate(self) -> None:
        """Work, then sleep."""
        turns(TURNS)
        time.sleep(0.0005)


@dataclass
class Buffer(Private):
    """At N > 1 each message is received into a fresh buffer of 256 KiB, as asyncio does it."""

    async def setup(self, worker: Worker) -> None:
        """Connect two sockets that hold a message."""
        self._ends = socket.socketpair()
        for end in self._ends:
            for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
                end.setsockopt(socket.SOL_SOCKET, option, 4 * BUFFER_BYTES)
        self._message = bytes(MESSAGE_BYTES)
        self._buffer = bytearray(BUFFER_BYTES)

    def operate(self) -> None:
        """Send and receive some messages."""
        ours, theirs = self._ends
        for _ in range(MESSAGES):
            ours.send(self._message)
            theirs.recv(BUFFER_BYTES)

    def operate_alone(self) -> None:
        """The same with one buffer for all of them."""
        ours, theirs = self._ends
        for _ in range(MESSAGES):
            ours.send(self._message)
            theirs.recv_into(self._buffer)

    async def teardown(self, worker: Worker) -> None:
        """Close both."""
        for end in self._ends:
            end.close()


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
