"""Samples the Python stacks of other threads: `python -m workers.stacks RATE_PER_S PID:TID…`.

It runs beside a child, on the child's own build: `_remote_debugging`, which reads another process's
memory without stopping it, understands only its own version of CPython (3.14 or newer). That module
is internal; nothing else here uses it. In 3.14 a stack ends where C has called Python: a callback's
does not reach the loop that runs it.

It prints one line when it begins, samples until its standard input is closed, and then prints one
JSON object. Each sample is [monotonic ns, thread, state, index of the stack]. The state is
`running`, which it may also be while it waits for a CPU, or the number of the system call that it
is blocked in. A stack is a list of [function, file], innermost first.
"""

from __future__ import annotations

import json
import random
import resource
import select
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

LONGEST_NS = 300_000  # of a look, and 100,000 more a thread, of which each takes about 30,000
PER_THREAD_NS = 100_000
TRIES, AGAIN_S = 20, 0.01  # to read an interpreter that is changing at that moment
# What a read may meet in memory that is written meanwhile: the sample is counted as missed.
TORN = (OSError, RuntimeError, UnicodeDecodeError, ValueError, MemoryError)


class Samples:
    """What was seen so far; each stack is kept once."""

    def __init__(self) -> None:
        self.stacks: dict[tuple[tuple[str, str], ...], int] = {}
        self.samples: list[tuple[int, int, str, int]] = []
        self.missed = 0

    def add(self, pid: int, wanted: set[int], unwinder: Any) -> None:
        """Look at the wanted threads of a process once."""
        began_ns = time.monotonic_ns()
        before = {thread_id: _state(pid, thread_id) for thread_id in wanted}
        try:
            found = list(_threads(unwinder.get_stack_trace()))
        except TORN:
            self.missed += 1
            return
        after = {thread_id: _state(pid, thread_id) for thread_id in wanted}
        now_ns = time.monotonic_ns()
        in_time = now_ns - began_ns < LONGEST_NS + PER_THREAD_NS * len(wanted)
        for thread_id, frames in found:
            state = after.get(thread_id)
            # A sampler that had to wait for a CPU has a state of one moment and a stack of another.
            if state and state == before[thread_id] and in_time:
                stack = tuple((str(frame.funcname), str(frame.filename)) for frame in frames)
                place = self.stacks.setdefault(stack, len(self.stacks))
                self.samples.append((now_ns, thread_id, state, place))
            elif state:
                self.missed += 1

    def document(self) -> dict[str, Any]:
        """All of it, with the CPU time that looking has cost."""
        used = resource.getrusage(resource.RUSAGE_SELF)
        return {
            "stacks": list(self.stacks),
            "samples": self.samples,
            "missed": self.missed,
            "cpu_s": used.ru_utime + used.ru_stime,
        }


def _threads(found: Iterable[Any]) -> Iterator[tuple[int, Any]]:
    """Thread ids and frames; since 3.15 threads stand below their interpreter."""
    for each in found:
        for thread in getattr(each, "threads", [each]):
            yield thread.thread_id, thread.frame_info


def _state(pid: int, thread_id: int) -> str:
    """What the kernel says of a thread; empty if it has ended."""
    try:
        with open(f"/proc/{pid}/task/{thread_id}/syscall", encoding="ascii") as file:
            return file.read().partition(" ")[0].strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def unwinders(pids: Iterable[int]) -> dict[int, Any]:
    """What reads the stacks of each process.

    Raises:
        ImportError: this Python cannot do it.
        PermissionError: the system does not permit it.
        RuntimeError: a process is of another build, or has ended.
    """
    from _remote_debugging import RemoteUnwinder  # type: ignore[import-not-found]

    def unwinder(pid: int) -> Any:
        for _ in range(TRIES):
            try:
                return RemoteUnwinder(pid, all_threads=True)
            except PermissionError:
                raise
            except TORN:
                time.sleep(AGAIN_S)
        return RemoteUnwinder(pid, all_threads=True)

    return {pid: unwinder(pid) for pid in pids}


def sample(threads: Iterable[tuple[int, int]], rate_per_s: float) -> Samples:
    """Sample until standard input is closed, at random distances: nothing is in step with them."""
    wanted: dict[int, set[int]] = {}
    for pid, thread_id in threads:
        wanted.setdefault(pid, set()).add(thread_id)
    looking = unwinders(wanted)
    samples = Samples()
    print("sampling", flush=True)
    due_s = time.monotonic()
    while True:
        due_s += random.uniform(0.5, 1.5) / rate_per_s
        wait_s = due_s - time.monotonic()
        if select.select([sys.stdin], [], [], max(0.0, wait_s))[0]:
            return samples
        for pid, unwinder in looking.items():
            samples.add(pid, wanted[pid], unwinder)


def main(arguments: list[str]) -> None:
    """Print the samples, or why there are none."""
    rate_per_s, *threads = arguments
    pairs = [
        (int(pid), int(thread)) for pid, _, thread in (each.partition(":") for each in threads)
    ]
    try:
        document = sample(pairs, float(rate_per_s)).document()
    except ImportError:
        document = {"failed": "no module"}
    except PermissionError:
        document = {"failed": "not permitted"}
    except TORN as error:
        document = {"failed": f"{type(error).__name__}: {error}"}
    json.dump(document, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
