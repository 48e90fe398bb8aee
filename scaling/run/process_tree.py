"""The processes of one run: a child that leads a session, and whatever it started in it."""

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

import psutil

POLL_MOST_S = 1e6
LISTS_CHILDREN = Path("/proc/thread-self/children").exists()  # Linux
RUN = "SCALING_RUN"  # the variable that all processes of one run inherit, whoever their parent is
LAST_WORDS_S = 1.0  # for stacks to be written, and for killed processes to be gone


def mark_of_driver() -> str:
    """What the marks of all runs of this process begin with, and those of no other process do."""
    return f"{os.getpid()}-{psutil.Process().create_time()}-"


def family(pid: int) -> list[psutil.Process]:
    """A process and all below it; nothing if it is gone.

    Where Linux lists the children of a thread they alone are read: psutil reads every process of
    the machine.
    """
    if not LISTS_CHILDREN:
        with contextlib.suppress(psutil.Error):
            root = psutil.Process(pid)
            return [root, *root.children(recursive=True)]
        return []
    found, new = [pid], [pid]
    while new:
        new = [child for each in new for child in children_of(each)]
        found += new
    members = []
    for each in found:
        with contextlib.suppress(psutil.Error):
            members.append(psutil.Process(each))
    return members


def children_of(pid: int) -> list[int]:
    """What the threads of a process have started (Linux)."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in threads_of(pid):
            with contextlib.suppress(OSError):
                found += map(int, (thread / "children").read_bytes().split())
    return found


def threads_of(pid: int) -> list[Path]:
    """Where Linux has what it knows of each thread of a process.

    Raises:
        OSError: the process is gone.
    """
    return list(Path(f"/proc/{pid}/task").iterdir())


def ended_within(process: subprocess.Popen[bytes], limit_s: float) -> bool:
    """Wait for a process to end; False if it takes longer.

    `Popen.wait` with a limit looks every 50 ms only, which each run of a study would wait for.
    """
    try:
        descriptor = os.pidfd_open(process.pid)
    except (AttributeError, OSError):  # not on this system
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(limit_s)
        return process.returncode is not None
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        if not poll.poll(min(limit_s, POLL_MOST_S) * 1_000):
            return False
    finally:
        os.close(descriptor)
    process.wait()
    return True


def ask_for_stacks(process: subprocess.Popen[bytes]) -> None:
    """Have each process of the tree write the stacks of its threads, one after the other.

    `workers` does so on SIGUSR1. (On SIGABRT a free-threaded build shows only one thread.)
    """
    members = _members(process.pid)
    for member in members:
        with contextlib.suppress(psutil.Error):
            member.send_signal(signal.SIGUSR1)
        time.sleep(LAST_WORDS_S / len(members))


def end_tree(
    process: subprocess.Popen[bytes], known: Iterable[psutil.Process] = (), run: str = ""
) -> None:
    """End a process that leads its session, and everything that it started, before returning.

    `known` are processes that belonged to it and may have left its session or lost their parent;
    so may those that have `run` as their variable `RUN`.
    """
    others = {*known, *_descendants(process), *_of_run(run)}
    left = True
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # all are gone
        left = False
    for each in others:
        with contextlib.suppress(psutil.Error):  # gone; psutil notices a pid that was reused
            each.kill()
    process.wait()
    deadline = time.monotonic() + LAST_WORDS_S
    while time.monotonic() < deadline and (
        any(map(runs, others)) or (left and _members(process.pid))
    ):
        time.sleep(0.01)


def _descendants(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """All that a process has started, directly or not, while it still exists."""
    if process.returncode is None:
        with contextlib.suppress(psutil.Error):
            return psutil.Process(process.pid).children(recursive=True)
    return []


def _of_run(run: str) -> list[psutil.Process]:
    """The processes of a run that can be known by their environment."""
    members = []
    for process in psutil.process_iter() if run else ():
        with contextlib.suppress(psutil.Error):
            if process.environ().get(RUN) == run:
                members.append(process)
    return members


def _members(group: int) -> list[psutil.Process]:
    """The running processes of a group; zombies do not count."""
    members = []
    for process in psutil.process_iter():
        with contextlib.suppress(OSError):
            if os.getpgid(process.pid) == group and runs(process):
                members.append(process)
    return members


def runs(process: psutil.Process) -> bool:
    """Whether a process still runs; a zombie does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
