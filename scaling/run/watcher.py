"""Ends the runs of a driver that cannot do it: nothing stays behind, and nothing stays stopped.

A stopped process notices nothing, not even that its driver is gone. So a driver that stops runs has
a watcher, a small process in a session of its own that nothing sends signals to. It kills every
process of the driver's runs when its pipe to the driver closes, which happens however the driver
ends, or when the driver itself is stopped (Ctrl-Z) for longer than `MOST_STOPPED_S`: the run whose
turn it is would go on all the while. A death signal would not do: it does not reach grandchildren,
and it is sent when the thread ends that started the child.

This file is also the watcher's program, which imports the standard library alone.
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

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
        """True if the watcher, which has ended, killed runs: this process was stopped for long."""
        return self._process.poll() == ENDED_RUNS

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
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
