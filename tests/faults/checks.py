"""What is looked at after a fault: one table of checks, each of which names what is wrong.

The kernel gives the children of a dead process to the nearest ancestor that asked for them: this
process. So whatever a study started and did not end is found here, in whatever session it is.
"""

import contextlib
import ctypes
import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from scaling.analysis.table.load import judge_of
from scaling.base.errors import ScalingError
from scaling.journal.file import FILE_NAME
from scaling.journal.reading import read_lines
from scaling.journal.record import Cell, RunLine, StudyLine

PR_SET_CHILD_SUBREAPER = 36
GRACE_S = 20.0  # for children that notice by themselves that their driver is gone

type Key = tuple[int, Cell, int]  # block, cell, attempt
type Try = dict[str, list[str]]  # what is wrong after one try, by check; empty if nothing is
type Fault = Callable[[Path], Iterator[Try]]  # its tries, each in the empty folder that it gets


class NotHereError(Exception):
    """This machine does not permit the fault; the message says what is missing."""


@dataclass(frozen=True)
class After:
    """What a study left in a `folder`: the runs `kept` should be in its journal.

    `files` are those that may be at the top of the folder, `said` all that was printed, and
    `problem` why the study did not survive, "" if it did.
    """

    folder: Path
    kept: Collection[Key] = ()
    files: Collection[str] = (FILE_NAME,)
    said: str = ""
    problem: str = ""


def adopt_orphans() -> None:
    """Become the parent of all that our descendants leave behind (Linux)."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def lost(after: After) -> list[str]:
    """Runs that were in the journal, and are not; all where it cannot be read."""
    if not after.kept:
        return []
    try:
        found = records(after.folder)
    except (ScalingError, OSError) as error:
        return [f"not readable: {error}"] * len(after.kept)
    return [f"block {block}, attempt {n}" for block, _, n in set(after.kept) - set(found)]


def doubled(after: After) -> list[str]:
    """Runs that are in the journal more than once."""
    with contextlib.suppress(ScalingError, OSError):
        found = records(after.folder)
        return [f"block {key[0]}, {count} times" for key, count in found.items() if count > 1]
    return []


def processes(after: After) -> list[str]:
    """Processes that still run, which are ended; with the ports on which they listen."""
    deadline = time.monotonic() + GRACE_S
    while (found := _descendants()) and time.monotonic() < deadline:
        time.sleep(0.05)
    names = []
    for each in found:
        with contextlib.suppress(psutil.Error):
            ports = [its.laddr.port for its in each.net_connections() if its.status == "LISTEN"]
            names.append(f"{' '.join(each.cmdline())[:200]} {each.status()} {ports or ''}")
            each.kill()
    while found and _descendants():
        time.sleep(0.05)
    return names


def files(after: After) -> list[str]:
    """Files and folders that nobody expects, at any depth."""
    every = (path.relative_to(after.folder) for path in after.folder.rglob("*"))
    left = [path for path in every if path.parts[0] not in after.files]
    return sorted(map(str, left)) + sorted(map(str, after.folder.glob("tmp/*")))


CHECKS: dict[str, Callable[[After], list[str]]] = {
    "failed": lambda after: [after.problem] if after.problem else [],
    "traceback": lambda after: [after.said] if "Traceback" in after.said else [],
    "lost": lost,
    "doubled": doubled,
    "processes": processes,
    "files": files,
}


def checked(after: After, *, started: bool = True) -> Try:
    """A try after which all of this holds; a study that `started` nothing has left no process."""
    names = [name for name in CHECKS if started or name != "processes"]
    return {name: found for name in names if (found := CHECKS[name](after))}


def wrong(problem: str) -> Try:
    """A try that went wrong in another way; "" is one that did not."""
    return {"failed": [problem]} if problem else {}


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


# -------------------------------------------------------------------------------------------- runs


def key_of(line: RunLine) -> Key:
    return line.block, line.cell, line.attempt


def records(folder: Path) -> Counter[Key]:
    """The runs in a journal, how often each. Raises `ScalingError`, `OSError`."""
    lines = read_lines(folder / FILE_NAME, lambda note: None)
    return Counter(key_of(line) for line in lines if isinstance(line, RunLine))


def kept_in(folder: Path) -> list[Key]:
    """The runs in a folder's journal so far; none where there is no readable one yet."""
    with contextlib.suppress(ScalingError, OSError):
        return list(records(folder))
    return []


def judged(folder: Path) -> list[tuple[RunLine, str | None]]:
    """Every run and why the driver judges it invalid, None where it does not.

    Raises:
        ScalingError: the journal cannot be read.
    """
    head, *lines = read_lines(folder / FILE_NAME, lambda note: None)
    assert isinstance(head, StudyLine)
    judge = judge_of(head)
    return [(line, judge(line)) for line in lines if isinstance(line, RunLine)]


def latest(folder: Path) -> list[tuple[RunLine, str | None]]:
    """The last attempt at each of them."""
    return list({(line.block, line.cell): (line, why) for line, why in judged(folder)}.values())


def complete(folder: Path, runs: int) -> Try:
    """A try after which the journal has so many runs, whatever became of each."""
    try:
        found = len(latest(folder))
    except ScalingError as error:
        return wrong(str(error))
    return wrong(f"{found} of {runs} runs" if found != runs else "")
