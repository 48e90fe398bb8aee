"""System calls that the threads of a run's loops wait in, sampled from outside.

The kernel shows the system call that a sleeping thread is in (`syscall`), or where in the kernel
it sleeps (`wchan`), to whoever may trace it: a process of the same user, with Yama an ancestor.
Looking at a thread does not stop it. A sampler costs time on the CPUs that it measures, so it looks
at a few threads at a time, however many there are.
"""

import asyncio
import contextlib
import os
import platform
import random
import time
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Literal

from scaling.journal.record import Record, Waits, WorkerRecord
from scaling.run.probe import ENDED, IN_TURN, Phase

# Rounds. Each is late or early by up to half, so as not to be in step with ticks. A round of two
# threads takes about 0.1 ms of CPU time, most of it for waking up, and costs a loop about as much.
RATE_PER_S = 30.0
THREADS_A_ROUND = 8
LONGEST_BYTES = 256  # a number and eight registers
RUNNING = "running"
PAGE_FAULT = "page fault"

# The numbers of calls that threads are known to wait in (Linux, `asm/unistd_64.h` and
# `asm-generic/unistd.h`). One that is not listed is counted by its number.
X86_64 = {
    0: "read", 1: "write", 7: "poll", 9: "mmap", 11: "munmap", 19: "readv", 20: "writev",
    23: "select", 28: "madvise", 35: "nanosleep", 42: "connect", 43: "accept", 44: "sendto",
    45: "recvfrom", 46: "sendmsg", 47: "recvmsg", 61: "wait4", 73: "flock", 74: "fsync",
    75: "fdatasync", 202: "futex", 230: "clock_nanosleep", 232: "epoll_wait", 247: "waitid",
    257: "openat", 270: "pselect6", 271: "ppoll", 281: "epoll_pwait", 288: "accept4",
    426: "io_uring_enter", 441: "epoll_pwait2", 449: "futex_waitv", 455: "futex_wait",
}  # fmt: skip
GENERIC = {
    22: "epoll_pwait", 32: "flock", 56: "openat", 63: "read", 64: "write", 65: "readv",
    66: "writev", 72: "pselect6", 73: "ppoll", 82: "fsync", 83: "fdatasync", 95: "waitid",
    98: "futex", 101: "nanosleep", 115: "clock_nanosleep", 202: "accept", 203: "connect",
    206: "sendto", 207: "recvfrom", 211: "sendmsg", 212: "recvmsg", 215: "munmap", 222: "mmap",
    233: "madvise", 242: "accept4", 260: "wait4", 426: "io_uring_enter", 441: "epoll_pwait2",
    449: "futex_waitv", 455: "futex_wait",
}  # fmt: skip
CALLS = {"x86_64": X86_64, "aarch64": GENERIC, "riscv64": GENERIC}.get(platform.machine(), {})

# Common parts of the names of the places where threads sleep in the kernel in those calls. They
# differ between kernels (`ep_poll`, `do_epoll_wait`); another place is counted by its own name.
PLACES = {
    "ep_poll": "epoll_wait",
    "epoll": "epoll_wait",
    "io_cqring": "io_uring_enter",
    "futex": "futex",
    "nanosleep": "clock_nanosleep",
    "poll": "poll",
    "select": "select",
    "pipe_read": "read",
}

type Source = Literal["syscall", "wchan"]


class WaitSampler:
    """Samples the loops' threads of one run. It never makes a run fail: what it cannot read is
    missing.
    """

    def __init__(self) -> None:
        self._threads: list[_SampledThread] = []
        self._first = 0  # of the next round
        self._sampling: asyncio.Task[None] | None = None
        self._resumed_s = self._took_s = 0.0
        self._cost_s = 0.0  # CPU time of the looks alone: the driver's thread does other work, too

    def at(self, phase: Phase) -> None:
        """Begin when all workers are ready, end when the last one is measured.

        In between it pauses while others have their turn.
        """
        if phase.name == "ready":
            self._begin(phase.facts["threads"])
        elif phase.name == IN_TURN and self._threads:
            self._resume()
        elif phase.name in ("turn", "closed", ENDED):
            self._pause()
        if phase.name in ("closed", ENDED):
            for each in self._threads:
                each.close()

    def _begin(self, threads: Sequence[tuple[int, int]]) -> None:
        source = next((each for each in _sources() if _is_readable(each, *threads[0])), None)
        if source is not None:
            self._threads = [_SampledThread(source, pid, thread) for pid, thread in threads]
            self._resume()

    def _resume(self) -> None:
        self._resumed_s = time.monotonic()
        self._sampling = asyncio.create_task(self._sample())

    def _pause(self) -> None:
        if self._sampling:
            self._sampling.cancel()
            self._sampling = None
            self._took_s += time.monotonic() - self._resumed_s

    async def _sample(self) -> None:
        count = len(self._threads)
        while True:
            await asyncio.sleep(random.uniform(0.5, 1.5) / RATE_PER_S)
            began_s = time.thread_time()
            for place in range(self._first, self._first + min(count, THREADS_A_ROUND)):
                self._threads[place % count].sample()
            self._cost_s += time.thread_time() - began_s
            if count > THREADS_A_ROUND:
                self._first = (self._first + THREADS_A_ROUND) % count

    def waits(self, record: Record | None) -> Waits | None:
        """The samples inside each worker's own window; None without a window, or without any."""
        if record is None or not self._threads or not self._took_s:
            return None
        if len(record.workers) != len(self._threads):
            return None
        if not all(worker.ticks.time_ns for worker in record.workers):
            return None
        taken = sum(len(each.times_ns) for each in self._threads)
        return Waits(
            source=self._threads[0].source,
            rate_per_s=round(taken / len(self._threads) / self._took_s, 1),
            took_s=round(self._took_s, 3),
            cost_s=round(self._cost_s, 6),
            calls=[
                each.counts(_counted(worker))
                for each, worker in zip(self._threads, record.workers, strict=True)
            ],
        )


class _SampledThread:
    """One thread, and when it was found in which call."""

    def __init__(self, source: Source, pid: int, thread: int) -> None:
        self.source = source
        self.times_ns = array("q")
        self._calls: list[str] = []
        self._name = _name_of_call if source == "syscall" else _name_of_place
        self._file: int | None = None
        with contextlib.suppress(OSError):
            self._file = os.open(_path(source, pid, thread), os.O_RDONLY)

    def sample(self) -> None:
        """Look where it is; once it has ended, do nothing."""
        if self._file is None:
            return
        try:
            text = os.pread(self._file, LONGEST_BYTES, 0)
        except OSError:
            self.close()
            return
        if text:
            self.times_ns.append(time.monotonic_ns())
            self._calls.append(self._name(text.split(maxsplit=1)[0].decode()))

    def counts(self, spans_ns: Iterable[tuple[int, int]]) -> dict[str, int]:
        """The samples inside these stretches of time (monotonic ns) by name."""
        found: Counter[str] = Counter()
        for from_ns, until_ns in spans_ns:
            first = bisect_left(self.times_ns, from_ns)
            found.update(islice(self._calls, first, bisect_right(self.times_ns, until_ns)))
        return dict(found)

    def close(self) -> None:
        """Close the file; harmless when it is closed."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _counted(worker: WorkerRecord) -> Iterable[tuple[int, int]]:
    """The true time that counts, monotonic ns: the window, or each of its slices."""
    if worker.slices is None:
        return [(worker.ticks.time_ns[0], worker.ticks.time_ns[-1])]
    return zip(worker.slices.opened_ns, worker.slices.closed_ns, strict=True)


def _path(source: Source, pid: int, thread: int) -> str:
    return f"/proc/{pid}/task/{thread}/{source}"


def _sources() -> list[Source]:
    """The files to read, the better one first: a number is of no use where calls have no names."""
    return ["syscall", "wchan"] if CALLS else ["wchan"]


def _is_readable(source: Source, pid: int, thread: int) -> bool:
    """Whether the system has that file and permits to read it (it decides when it is read)."""
    try:
        return bool(Path(_path(source, pid, thread)).read_bytes())
    except OSError:
        return False


@cache
def _name_of_call(word: str) -> str:
    """Of `202`: the call; of `running`, and of a thread that waits outside a call."""
    if word == RUNNING:
        return RUNNING
    if word == "-1":
        return PAGE_FAULT
    return CALLS.get(int(word), f"call {word}") if word.isdigit() else word


@cache
def _name_of_place(word: str) -> str:
    """Of `futex_wait_queue`: the call; `0` is a thread that runs."""
    if word == "0":
        return RUNNING
    return next((call for part, call in PLACES.items() if part in word), word)
