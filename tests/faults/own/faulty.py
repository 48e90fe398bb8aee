"""A workload that does what it is asked to do wrong, in its window or while it is set up."""

import asyncio
import collections
import ctypes
import itertools
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from workers import Worker, Workload, parameter

MIB = 1 << 20


def segfault() -> None:
    """Read where nothing is."""
    ctypes.string_at(0)


def endless() -> None:
    """Never return to Python."""
    collections.deque(itertools.repeat(0), maxlen=0)


def deadlock() -> None:
    """Wait for oneself."""
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def memory() -> None:
    """Take more than there is. mimalloc has reserved 1 GiB by then: few, large blocks fill it."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + 64 * MIB
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]  # another thread may lower the limit, too
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    kept = [bytes(32 * MIB) for _ in range(100)]
    del kept


def rubbish_as_record() -> None:
    """Print 20 MB into whatever is open, the record's own file among them, and end."""
    for descriptor in range(3, 64):
        try:
            if os.path.realpath(f"/proc/self/fd/{descriptor}").startswith(("/tmp", "/var")):
                os.write(descriptor, b"{" * 20 * MIB)
        except OSError:
            continue


def fork() -> None:
    """Have a copy of this process live on."""
    if not os.fork():
        signal.pause()


def daemon() -> None:
    """Have a process live on that has another session, and no parent."""
    program = "import os, signal; os.fork() and os._exit(0); os.setsid(); signal.pause()"
    subprocess.run([sys.executable, "-c", program], check=True, start_new_session=True)


WAYS: dict[str, Callable[[], object]] = {
    "fine": lambda: None,
    "segfault": segfault,
    "exit": lambda: os._exit(0),
    "endless": endless,
    "deadlock": deadlock,
    "memory": memory,
    "rubbish-as-record": rubbish_as_record,
    "fork": fork,
    "daemon": daemon,
}


@dataclass
class Faulty(Workload):
    """Does nothing much until it does what is wrong."""

    operation = "turns"

    way: str = parameter("fine", "what to do wrong")
    when: Literal["setup", "window"] = parameter("window", "when to do it")

    async def setup(self, worker: Worker) -> None:
        """Do it here, if asked to."""
        if self.when == "setup":
            WAYS[self.way]()

    async def run(self, worker: Worker) -> None:
        """Count turns of the loop; do it after some."""
        while worker.running:
            await asyncio.sleep(0.001)
            worker.operations += 1
            if worker.operations == 20 and self.when == "window":
                WAYS[self.way]()


@dataclass
class FaultyInTurn(Faulty):
    """The same, taking turns with others."""

    alone = None
