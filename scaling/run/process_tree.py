"""The processes of one run: a child that leads a session, and whatever it started in it."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterable

import psutil

LAST_WORDS_S = 1.0  # for stacks to be written; for processes that were killed to be gone


def ask_for_stacks(process: subprocess.Popen[bytes]) -> None:
    """Have each process of the tree write its threads' stacks, one after the other.

    `workers` answers SIGUSR1 so. (At SIGABRT a free-threaded build shows but one thread.)
    """
    members = _members(process.pid)
    for member in members:
        with contextlib.suppress(psutil.Error):
            member.send_signal(signal.SIGUSR1)
        time.sleep(LAST_WORDS_S / len(members))


def end_tree(process: subprocess.Popen[bytes], known: Iterable[psutil.Process] = ()) -> None:
    """End a process that leads its session, and everything that it started, before returning.

    `known` are processes seen to be its own, which may have left its session, or lost it.
    """
    others = {*known, *_descendants(process)}
    left = True
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # all are gone
        left = False
    for each in others:
        with contextlib.suppress(psutil.Error):  # gone; psutil knows a number that is used anew
            each.kill()
    process.wait()
    deadline = time.monotonic() + LAST_WORDS_S
    while time.monotonic() < deadline and (
        any(map(runs, others)) or (left and _members(process.pid))
    ):
        time.sleep(0.01)


def _descendants(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """What a process has started and what that has started, as long as it is there itself."""
    if process.returncode is None:
        with contextlib.suppress(psutil.Error):
            return psutil.Process(process.pid).children(recursive=True)
    return []


def _members(group: int) -> list[psutil.Process]:
    """The processes of a group that run; one that waits to be reaped does not."""
    members = []
    for process in psutil.process_iter():
        with contextlib.suppress(OSError):
            if os.getpgid(process.pid) == group and runs(process):
                members.append(process)
    return members


def runs(process: psutil.Process) -> bool:
    """Whether a process is still there; one that only waits to be reaped is not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
