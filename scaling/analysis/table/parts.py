"""A journal in parts, of 64 MiB or more, one on each CPU; in each some hundred runs at a time.

Ticks are nearly all of a journal and would not fit into memory together.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import batched, pairwise, starmap
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple, Self

import msgspec

from scaling.analysis.table.column import expectations
from scaling.analysis.table.frame import RUNS_AT_A_TIME, FrameBuilder
from scaling.analysis.table.rows import Rows
from scaling.analysis.table.stacks import Readings, readings
from scaling.base.errors import UsageError
from scaling.journal.reading import WHOLE, read_lines
from scaling.journal.record import CeilingLine, Line, RunLine, StudyLine, Ticks

NO_TICKS = Ticks()
CTRL_C = [signal.SIGINT]  # left to the process that waits for the others
PART_BYTES = 64 << 20  # smaller ones take longer to hand over than to read


class Part(NamedTuple):
    """What a part of a journal holds; the study is that of the whole."""

    study: StudyLine
    built: FrameBuilder
    ceilings: list[CeilingLine]
    notes: list[str]

    def extend(self, later: Self) -> None:
        """Append what the next part holds."""
        self.built.extend(later.built)
        self.ceilings.extend(later.ceilings)
        self.notes.extend(later.notes)


def read_runs(file: Path) -> Part:
    """All of a journal: its first part is read here, each other one by a process.

    These are forked, since a fresh one would import for as long as it reads. They end with this
    call, however it ends.

    Raises:
        UsageError: as `read_lines` does, or a process was killed.
    """
    first, *later = _ranges(file)
    with ExitStack() as running:
        try:
            others = [running.enter_context(_reader(file, part)) for part in later]
        except OSError:  # no process can be started: too many, or no memory for one
            return _read(file, WHOLE)
        read = _read(file, first)
        for other in others:
            read.extend(_received(file, other))
    return read


def _ranges(file: Path) -> list[range]:
    """The bytes of each part; a small or a packed journal is one."""
    size = file.stat().st_size
    most = len(os.sched_getaffinity(0)) if _can_fork() and file.suffix != ".gz" else 1
    count = max(1, min(most, size // PART_BYTES))
    ends = [size * place // count for place in range(1, count)]
    return list(starmap(range, pairwise([0, *ends, WHOLE.stop])))


def _can_fork() -> bool:
    """Whether a fork is safe.

    A process with several threads, such as a notebook's, may hold locks that no thread of the fork
    would release. numpy ends its own threads before a fork.
    """
    return sys.platform == "linux" and threading.active_count() == 1


@contextmanager
def _reader(file: Path, part: range) -> Iterator[Connection]:
    """A process that reads a part; gives the end of the pipe that it will send it through."""
    context = get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    with ours:
        with theirs:
            process = context.Process(target=_send, args=(file, part, theirs), daemon=True)
            signal.pthread_sigmask(signal.SIG_BLOCK, CTRL_C)  # the process keeps it blocked
            try:
                process.start()
            finally:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, CTRL_C)
        try:
            yield ours
        finally:
            process.kill()
            process.join()


def _send(file: Path, part: range, through: Connection) -> None:
    try:
        read: Part | UsageError = _read(file, part)
    except UsageError as error:
        read = error
    with suppress(BrokenPipeError):  # nobody waits any more
        through.send(read)


def _received(file: Path, reader: Connection) -> Part:
    try:
        read: Part | UsageError = reader.recv()
    except EOFError:
        raise UsageError(
            f"{file}: a process that read a part of it was ended, perhaps for want of memory; "
            f"to read it in one process: taskset -c 0 scaling …"
        ) from None
    if isinstance(read, UsageError):
        raise read
    return read


def _read(file: Path, part: range) -> Part:
    notes: list[str] = []
    lines = read_lines(file, notes.append, part)
    study = next(lines)
    assert isinstance(study, StudyLine)
    expected = expectations(study)
    read = Part(study, FrameBuilder(), [], notes)
    for some in batched(_runs(lines, read.ceilings), RUNS_AT_A_TIME):
        runs, ticks = zip(*some, strict=True)
        read.built.add(Rows(runs, study, expected, ticks))
    return read


def _runs(
    lines: Iterator[Line], ceilings: list[CeilingLine]
) -> Iterator[tuple[RunLine, Readings | None]]:
    """The runs among the lines, without their ticks, which stand beside them.

    Ceilings are put aside on the way.
    """
    for line in lines:
        if isinstance(line, RunLine):
            ticks = readings(line.record)
            for worker in line.record.workers if line.record is not None else ():
                msgspec.structs.force_setattr(worker, "ticks", NO_TICKS)
            yield line, ticks
        elif isinstance(line, CeilingLine):
            ceilings.append(line)
