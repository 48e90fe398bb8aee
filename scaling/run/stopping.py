"""Stops all processes of a run and continues them (Linux: /proc says whether they have stopped)."""

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path

from scaling.base.errors import ScalingError
from scaling.run.process_tree import LISTS_CHILDREN, RUN, children_of, threads_of
from scaling.run.watcher import with_entry

IS_POSSIBLE = LISTS_CHILDREN
WHY_NOT = "this system does not show which processes and threads of a run have stopped"

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
        """Kill those that were there at the last stop."""
        signal_all(self.pids, signal.SIGKILL)

    def _found(self) -> set[int]:
        if self._orphans is None:
            self._orphans = set(with_entry(f"{RUN}={self._mark}"))
        found: set[int] = set()
        waiting = [self._root, *self._orphans]
        while waiting:
            pid = waiting.pop()
            if pid not in found and Path(f"/proc/{pid}").exists():
                found.add(pid)
                waiting += children_of(pid)
        return found


def signal_all(pids: Iterable[int], number: signal.Signals) -> None:
    """Send a signal to each of these processes that is still there."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _is_at_rest(pid: int) -> bool:
    """Whether no thread of a process can run; also if it is gone."""
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
