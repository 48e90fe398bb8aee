"""What a driver left behind: processes, the ports they listen on, files.

The kernel gives the children of a dead process to the nearest ancestor that asked for them: this
process. So whatever a study started and did not end is found here, in whatever session it is.
"""

import contextlib
import ctypes
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil

PR_SET_CHILD_SUBREAPER = 36
GRACE_S = 20.0  # for children that notice by themselves that their driver is gone


def adopt_orphans() -> None:
    """Become the parent of all that our descendants leave behind (Linux)."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


@dataclass(frozen=True)
class Left:
    """What was left, and is ended now."""

    processes: list[str]
    ports: list[int]


def left_behind(grace_s: float = GRACE_S) -> Left:
    """Wait until no descendant is left; name and end those that are still there afterwards."""
    deadline = time.monotonic() + grace_s
    while (found := _descendants()) and time.monotonic() < deadline:
        time.sleep(0.05)
    names, ports = [], []
    for each in found:
        with contextlib.suppress(psutil.Error):
            ports += [its.laddr.port for its in each.net_connections() if its.status == "LISTEN"]
            names.append(" ".join(each.cmdline())[:200])
            each.kill()
    while found and _descendants():
        time.sleep(0.05)
    return Left(names, ports)


def _descendants() -> list[psutil.Process]:
    """Those that run; the dead among our children are reaped."""
    found = []
    for each in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if each.status() != psutil.STATUS_ZOMBIE:
                found.append(each)
            elif each.ppid() == os.getpid():
                os.waitpid(each.pid, os.WNOHANG)
    return found


def unexpected(folder: Path, known: Iterable[str] = ()) -> list[str]:
    """Files and folders in `folder`, at any depth, but for those `known` at its top."""
    every = (path.relative_to(folder) for path in folder.rglob("*"))
    return sorted(str(path) for path in every if path.parts[0] not in set(known))
