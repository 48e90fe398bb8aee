"""The processes of one run: a child that leads a session, and whatever it started in it.

They can be stopped and continued together where the system says whether they have stopped (Linux:
/proc).
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import psutil

from scaling.base.errors import ScalingError
from scaling.run.watcher import with_entry

LISTS_CHILDREN = Path("/proc/thread-self/children").exists()  # Linux
RUN = "SCALING_RUN"  # the variable that all processes of one run inherit, whoever their parent is
LAST_WORDS_S = 1.0  # for stacks to be written, and for killed processes to be gone


def mark_of_driver() -> str:
    """The beginning of the marks of all runs of this process, and of no other process's."""
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
    members = []
    for each in _with_descendants([pid]):
        with contextlib.suppress(psutil.Error):
            members.append(psutil.Process(each))
    return members


def _with_descendants(pids: Iterable[int]) -> list[int]:
    """Processes and all that they have started, each once (Linux)."""
    found = list(pids)
    for pid in found:  # and those that are added meanwhile
        found.extend(set(_children_of(pid)).difference(found))
    return found


def _children_of(pid: int) -> list[int]:
    """The processes that the threads of a process have started (Linux)."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in threads_of(pid):
            with contextlib.suppress(OSError):
                found += map(int, (thread / "children").read_bytes().split())
    return found


def threads_of(pid: int) -> list[Path]:
    """The folders in /proc of the threads of a process (Linux).

    Raises:
        OSError: the process is gone.
    """
    return list(Path(f"/proc/{pid}/task").iterdir())


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
    so may those that have `run` as their variable `RUN`. Where this process has no descriptors left
    to look for others, the session and those that are known are ended.
    """
    others = set(known)
    if process.returncode is None:
        with contextlib.suppress(OSError):
            others.update(family(process.pid)[1:])
    left = True
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # all are gone
        left = False
    others.update(_of_run(run))
    for each in others:
        with contextlib.suppress(psutil.Error, OSError):  # gone; psutil notices a reused pid
            each.kill()
    process.wait()
    if process.stdin:  # it is open yet where the process was given nothing
        process.stdin.close()
    deadline = time.monotonic() + LAST_WORDS_S
    while time.monotonic() < deadline and (
        any(map(runs, others)) or (left and _members(process.pid))
    ):
        time.sleep(0.01)


def _processes() -> Iterator[psutil.Process]:
    """The processes of the machine, as far as this process has descriptors to list them."""
    with contextlib.suppress(OSError):
        yield from psutil.process_iter()


def _of_run(run: str) -> list[psutil.Process]:
    """The processes of a run that can be known by their environment."""
    members = []
    for process in _processes() if run else ():
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get(RUN) == run:
                members.append(process)
    return members


def _members(group: int) -> list[psutil.Process]:
    """The running processes of a group; zombies do not count."""
    members = []
    for process in _processes():
        with contextlib.suppress(OSError):
            if os.getpgid(process.pid) == group and runs(process):
                members.append(process)
    return members


def runs(process: psutil.Process) -> bool:
    """Return True if a process still runs; a zombie does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except (psutil.Error, OSError):
        return False


# ----------------------------------------------------------------------------------------- stopping

CANNOT_STOP = (
    ""
    if LISTS_CHILDREN
    else "this system does not show which processes and threads of a run have stopped"
)
"""Reason that runs cannot be stopped here; empty where they can."""

STOP_LIMIT_S = 10.0  # for a thread in the kernel to come back from there
POLL_S = 0.000_2
AT_REST = frozenset("TtZX")  # states in /proc/PID/task/TID/stat: stopped, traced, ended


class NotStoppedError(ScalingError):
    """A process of a run cannot be stopped."""


class Tree:
    """The processes of a run: the child and all that it has started, directly or not.

    Those that lost their parent are known by the mark of the run. The first stop looks for it, and
    so does each look: a server is not stopped, and may replace its workers.
    """

    def __init__(self, root: int, mark: str) -> None:
        self._root = root
        self._mark = mark
        self._orphans: set[int] | None = None
        self.pids: frozenset[int] = frozenset()

    def stop(self) -> None:
        """Stop them, and return when no thread of theirs runs.

        Raises:
            NotStoppedError: one goes on for `STOP_LIMIT_S`.
        """
        stopped: set[int] = set()
        # Again, because one of them may have started another just before it stopped.
        while new := self._found() - stopped:
            signal_all(new, signal.SIGSTOP)
            deadline = time.monotonic() + STOP_LIMIT_S
            for pid in new:
                while not _is_at_rest(pid):
                    if time.monotonic() > deadline:
                        raise NotStoppedError(
                            f"process {pid} of the run could not be stopped in {STOP_LIMIT_S:g} s"
                        )
                    time.sleep(POLL_S)
            stopped |= new
        self.pids = frozenset(stopped)

    def look(self) -> None:
        """Note which there are, without a stop."""
        self._orphans = None
        self.pids = frozenset(self._found())

    def go_on(self) -> None:
        """Continue them all."""
        signal_all(self.pids, signal.SIGCONT)

    def kill(self) -> None:
        """Kill the child, which has not been waited for, and what was there at the last stop."""
        signal_all({self._root, *self.pids}, signal.SIGKILL)

    def _found(self) -> set[int]:
        if self._orphans is None:
            self._orphans = set(with_entry(f"{RUN}={self._mark}"))
        found = _with_descendants({self._root, *self._orphans})
        return {pid for pid in found if Path(f"/proc/{pid}").exists()}


def signal_all(pids: Iterable[int], number: signal.Signals) -> None:
    """Send a signal to each of these processes that is still there."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _is_at_rest(pid: int) -> bool:
    """Return True if no thread of a process can run; also if it is gone."""
    try:
        threads = threads_of(pid)
    except OSError:
        return True
    return all(_state(thread) in AT_REST for thread in threads)


def _state(thread: Path) -> str:
    try:
        text = (thread / "stat").read_bytes()
    except OSError:
        return "X"
    return chr(text[text.rindex(b")") + 2])  # the name before it may hold anything
