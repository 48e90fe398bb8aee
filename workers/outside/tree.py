"""The processes of a command, and the CPU time that they use in its window. Linux.

The kernel gives the id of a process that has ended to another one later. A process is therefore
known by its id and its start, and nothing else is read or ended.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from workers.channel import DriverError
from workers.worker.meter import Joined

GRACE_S = 5.0  # to end after a SIGTERM
LOOK_S = 0.01
# Fields of /proc/PID/stat after the program's name, and states of a thread that has work to do: it
# runs or waits for a CPU, or waits for a disk.
STATE, STARTED = 0, 19
WORKING = (b"R", b"D")


class Known(NamedTuple):
    """One process; `started` counts clock ticks from the start of the system."""

    pid: int
    started: int

    @property
    def exists(self) -> bool:
        """Return True if the process exists, if only as a zombie."""
        return _known(self.pid) == self


def family(root: int) -> set[Known]:
    """A process and all that it started, as far as they exist."""
    found, new = [root], [root]
    while new:
        new = [child for pid in new for child in _children(pid)]
        found += new
    return {each for each in map(_known, found) if each is not None}


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in _tasks(pid):
        with (
            contextlib.suppress(OSError),  # it has ended
            open(f"{task}/children", encoding="ascii") as listed,
        ):
            found += map(int, listed.read().split())
    return found


def _known(pid: int) -> Known | None:
    """The process that has this id now."""
    with contextlib.suppress(OSError):
        return Known(pid, int(_stat(f"/proc/{pid}")[STARTED]))
    return None


def _stat(folder: str) -> Sequence[bytes]:
    with open(f"{folder}/stat", "rb") as opened:
        return opened.read().rpartition(b")")[2].split()


def has_work(processes: Iterable[Known]) -> bool:
    """Return True if a thread of any of them has work to do.

    Its CPU time alone does not show that: on a busy machine a thread may wait for a CPU for long.
    `schedstat` counts such a wait only once it is over.
    """
    return any(_works(task) for each in processes if each.exists for task in _tasks(each.pid))


def _works(task: str) -> bool:
    with contextlib.suppress(OSError):
        return _stat(task)[STATE] in WORKING
    return False


def _tasks(pid: int) -> list[str]:
    with contextlib.suppress(OSError):  # it has ended
        return [f"/proc/{pid}/task/{each}" for each in os.listdir(f"/proc/{pid}/task")]
    return []


class CpuClock:
    """The CPU time of some processes, all their threads included."""

    def __init__(self) -> None:
        self._last_ns: dict[Known, int] = {}

    def read_ns(self, processes: Iterable[Known]) -> int:
        """CPU time of these processes so far; of one that has ended, as it was when last read."""
        for each in processes:
            with contextlib.suppress(OSError):
                # The kernel's number of a process's CPU clock (clock_getcpuclockid).
                used_ns = time.clock_gettime_ns((~each.pid << 3) | 2)
                if each.exists:
                    self._last_ns[each] = used_ns
        return sum(self._last_ns.values())

    @property
    def each_ns(self) -> dict[Known, int]:
        """The CPU time of each of them as it was when last read."""
        return dict(self._last_ns)


def end(process: "subprocess.Popen[bytes]", known: set[Known]) -> None:
    """End a command and all that it started; `known` may have lost their parent."""
    everything = set(known)
    if process.poll() is None:
        everything |= family(process.pid)
        process.terminate()
        deadline = time.monotonic() + GRACE_S
        while process.poll() is None and time.monotonic() < deadline:
            time.sleep(LOOK_S)
    for each in everything:
        if each.exists:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(each.pid, signal.SIGKILL)
    process.wait()


# ------------------------------------------------------------------------------------------- window
# The window of a command, in one piece or in slices: its instants, and the CPU time at them.
#
# Slices are put together as those of a worker (`workers.worker.meter`).

type Reading = tuple[int, int]  # when it was read, and the CPU time so far, ns


class Window:
    """A window as its readings show it; begins without any."""

    def __init__(self) -> None:
        self.slices: dict[str, list[int]] = {"opened_ns": [], "closed_ns": []}  # true instants
        self._joined = Joined("instant_ns", "cpu_ns")

    def add(self, instants_ns: Sequence[int], readings: Sequence[Reading]) -> int:
        """Add the window or its next slice; return how late it was closed, ns.

        There is a reading a little after each instant. The CPU time is brought to the instants,
        between the readings around them.
        """
        self.slices["opened_ns"].append(instants_ns[0])
        self.slices["closed_ns"].append(instants_ns[-1])
        first, *others = zip(instants_ns, _at(instants_ns, readings), strict=True)
        if len(self.slices["opened_ns"]) > 1:
            self._joined.leave_out(first)
        else:
            self._joined.add(first)
        for each in others:
            self._joined.add(each)
        return readings[-1][0] - instants_ns[-1]

    def as_worker(self, answered: Sequence[int] | None) -> dict[str, Any]:
        """The whole command as the one worker of a record.

        Operations are the answers that the load generator counted between two instants.

        Raises:
            DriverError: the driver does not say how many answers there were.
        """
        instants_ns, cpu_ns = self._joined.columns.values()
        if answered is None or len(answered) != len(instants_ns) - 1:
            raise DriverError("the driver did not say how many requests were answered")
        operations = [0]
        for count in answered:
            operations.append(operations[-1] + count)
        zeros = [0] * len(instants_ns)
        return {
            "index": 0,
            "ticks": {
                "instant_ns": instants_ns,
                "time_ns": instants_ns,
                "operations": operations,
                "errors": zeros,
                "bytes": zeros,
                "cpu_ns": cpu_ns,
                "minor_faults": None,
            },
        }


def _at(instants_ns: Sequence[int], readings: Sequence[Reading]) -> list[int]:
    """CPU time at the instants, on straight lines through the readings."""
    found = []
    for k, instant_ns in enumerate(instants_ns):
        first = min(max(k - 1, 0), len(readings) - 2)
        (from_ns, before), (until_ns, after) = readings[first], readings[first + 1]
        pace = (after - before) / max(until_ns - from_ns, 1)
        found.append(round(before + pace * (instant_ns - from_ns)))
    return found
