"""Stops the processes of a run and continues them, and ends them where their driver cannot.

Nothing stays behind, and nothing stays stopped (Linux: /proc says whether they have stopped).
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from scaling.base.errors import ScalingError
from scaling.run.process_tree import LISTS_CHILDREN, RUN, children_of, threads_of

# ------------------------------------------------------------------------------------------ watcher
# Ends the runs of a driver that cannot do it: nothing stays behind, and nothing stays stopped.
#
# A stopped process notices nothing, not even that its driver is gone. So a driver that stops runs
# has a watcher, a small process in a session of its own that nothing sends signals to. It kills
# every process of the driver's runs when its pipe to the driver closes, which happens however the
# driver ends, or when the driver itself is stopped (Ctrl-Z) for longer than `MOST_STOPPED_S`: the
# run whose turn it is would go on all the while. A death signal would not do: it does not reach
# grandchildren, and it is sent when the thread ends that started the child.
#
# This file is also the watcher's program, which imports the standard library alone.

LOOK_EVERY_S = 1.0
MOST_STOPPED_S = 10.0
ENDED_RUNS = 3  # exit code: the driver was stopped for too long, and is still there
ROUNDS = 100  # of killing: processes may start others meanwhile
PAUSE_S = 0.01


class Watcher:
    """Watches over the runs of this process whose environment has an entry that begins so."""

    def __init__(self, entry: str) -> None:
        """Start the watcher.

        Raises:
            OSError: no process can be started.
        """
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-I", "-S", __file__),
                *(str(os.getpid()), entry, str(MOST_STOPPED_S)),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={},
            start_new_session=True,
        )

    @property
    def ended_runs(self) -> bool:
        """Whether it has killed runs, since this process was stopped for long."""
        return self._process.poll() == ENDED_RUNS

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Have it kill what is left of the runs, and end."""
        if self._process.stdin:
            self._process.stdin.close()
        self._process.wait()


def with_entry(entry: str) -> Iterator[int]:
    """The processes whose environment has an entry (`NAME=value`) that begins so."""
    wanted = entry.encode()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                entries = (folder / "environ").read_bytes().split(b"\0")
                if any(each.startswith(wanted) for each in entries):
                    yield int(folder.name)


def _watch(driver: int, entry: str, most_stopped_s: float) -> int:
    """Wait for the end of the driver, or until it has been stopped for long; then kill its runs."""
    stopped_s = 0.0
    while not select.select([0], [], [], LOOK_EVERY_S)[0]:
        stopped_s = stopped_s + LOOK_EVERY_S if _is_stopped(driver) else 0.0
        if stopped_s > most_stopped_s:
            _kill_all(entry)
            return ENDED_RUNS
    _kill_all(entry)
    return 0


def _kill_all(entry: str) -> None:
    for _ in range(ROUNDS):
        found = _and_descendants(set(with_entry(entry)))
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not found:
            return
        time.sleep(PAUSE_S)


def _and_descendants(pids: set[int]) -> set[int]:
    """These processes and all that they have started, without zombies."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and (fields := _fields(int(folder.name))) and fields[0] != "Z":
            parents[int(folder.name)] = int(fields[1])
    found = pids & parents.keys()
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def _is_stopped(pid: int) -> bool:
    return _fields(pid)[:1] == ["T"]


def _fields(pid: int) -> list[str]:
    """State, parent and so on of a process; empty if it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return []
    return text[text.rindex(")") + 2 :].split()  # the name before it may hold anything


if __name__ == "__main__":
    sys.exit(_watch(int(sys.argv[1]), sys.argv[2], float(sys.argv[3])))


# ----------------------------------------------------------------------------------------- stopping

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
