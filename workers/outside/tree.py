"""The processes of a command: which there are, the CPU time that they used, their end. Linux."""

import contextlib
import os
import signal
import subprocess
import time

GRACE_S = 5.0  # to end after a SIGTERM
LOOK_S = 0.01


def family(root: int) -> list[int]:
    """The ids of a process and of all that it started."""
    found, new = [root], [root]
    while new:
        new = [child for pid in new for child in _children(pid)]
        found += new
    return found


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):  # it has ended
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as listed:
                found += map(int, listed.read().split())
    return found


class CpuClock:
    """The CPU time of some processes, all their threads included."""

    def __init__(self) -> None:
        self._last_ns: dict[int, int] = {}

    def read_ns(self, pids: list[int]) -> int:
        """Their CPU time so far; of one that has ended, as it was when last read."""
        for pid in pids:
            with contextlib.suppress(OSError):
                # The kernel's number of a process's CPU clock (clock_getcpuclockid).
                self._last_ns[pid] = time.clock_gettime_ns((~pid << 3) | 2)
        return sum(self._last_ns.values())


def end(process: "subprocess.Popen[bytes]", known: list[int]) -> None:
    """End a command and all that it started; `known` may have lost their parent."""
    everything = {*known, *family(process.pid)}
    if process.poll() is None:
        process.terminate()
        deadline = time.monotonic() + GRACE_S
        while process.poll() is None and time.monotonic() < deadline:
            time.sleep(LOOK_S)
    for pid in everything:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    process.wait()
