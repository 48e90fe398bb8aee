"""The processes of one run: a child that leads a session, and whatever it started in it."""

import contextlib
import os
import signal
import subprocess
import time

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


def end_tree(process: subprocess.Popen[bytes]) -> None:
    """End a process that leads its session, and everything that it started, before returning."""
    left = True
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # all are gone
        left = False
    process.wait()
    deadline = time.monotonic() + LAST_WORDS_S
    while left and _members(process.pid) and time.monotonic() < deadline:
        time.sleep(0.01)


def _members(group: int) -> list[psutil.Process]:
    """The processes of a group that run; one that waits to be reaped does not."""
    members = []
    for process in psutil.process_iter():
        with contextlib.suppress(OSError, psutil.Error):
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                members.append(process)
    return members
