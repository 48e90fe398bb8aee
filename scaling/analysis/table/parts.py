"""A journal in parts, one on each CPU; in each some hundred runs are decoded at a time.

Ticks are nearly all of a journal and would not fit into memory together.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from itertools import pairwise, starmap
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import msgspec

from scaling.analysis.table.frame import RUNS_AT_A_TIME, FrameBuilder
from scaling.analysis.table.rows import Rows, expectations
from scaling.analysis.table.stacks import Readings, readings
from scaling.base.errors import UsageError
from scaling.journal.reading import read_lines
from scaling.journal.record import CeilingLine, Line, RunLine, StudyLine, Ticks

NO_TICKS = Ticks()
PART_BYTES = 64 << 20  # smaller ones take longer to hand over than to read


class Part(NamedTuple):
    """What a part of a journal holds; the study is that of the whole."""

    study: StudyLine
    built: FrameBuilder
    ceilings: list[CeilingLine]
    notes: list[str]


def read_parts(file: Path) -> list[Part]:
    """The parts of a journal in order: the first is read here, each other one in a process.

    These are forked, since a fresh one would import for as long as it reads. A process with several
    threads, such as a notebook's, must not be forked and reads all of it.

    Raises:
        UsageError: as `read_lines` does, or a process was killed.
    """
    size = file.stat().st_size
    most = len(os.sched_getaffinity(0)) if _can_fork() and file.suffix != ".gz" else 1
    count = max(1, min(most, size // PART_BYTES))
    ends = [size * place // count for place in range(1, count)]
    first, *later = starmap(range, pairwise([0, *ends, sys.maxsize]))
    if not later:
        return [_read(file, first)]
    with ProcessPoolExecutor(len(later), get_context("fork"), _leave_interrupts) as pool:
        others = [pool.submit(_read, file, part) for part in later]
        read = _read(file, first)
        try:
            return [read, *(other.result() for other in others)]
        except BrokenExecutor:
            raise UsageError(
                f"{file}: a process that read a part of it was ended, perhaps for want of memory; "
                f"taskset -c 0 scaling … reads it in one"
            ) from None


def _can_fork() -> bool:
    return sys.platform == "linux" and threading.active_count() == 1


def _leave_interrupts() -> None:
    """Leave Ctrl-C to the process that asked for the part."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _read(file: Path, part: range) -> Part:
    notes: list[str] = []
    lines = read_lines(file, notes.append, part)
    study = next(lines)
    assert isinstance(study, StudyLine)
    expected = expectations(study)
    read = Part(study, FrameBuilder(), [], notes)
    for runs, ticks in _batches(lines, read.ceilings):
        read.built.add(Rows(runs, study, expected, ticks))
    return read


class _Batch(NamedTuple):
    """Some runs, and their ticks, which the runs no longer have."""

    runs: list[RunLine]
    ticks: list[Readings | None]


def _batches(lines: Iterator[Line], ceilings: list[CeilingLine]) -> Iterator[_Batch]:
    """The runs among the lines, some at a time; ceilings are put aside on the way."""
    batch = _Batch([], [])
    for line in lines:
        if isinstance(line, RunLine):
            batch.runs.append(line)
            batch.ticks.append(readings(line.record))
            _drop_ticks(line)
            if len(batch.runs) == RUNS_AT_A_TIME:
                yield batch
                batch = _Batch([], [])
        elif isinstance(line, CeilingLine):
            ceilings.append(line)
    if batch.runs:
        yield batch


def _drop_ticks(run: RunLine) -> None:
    for worker in run.record.workers if run.record is not None else ():
        msgspec.structs.force_setattr(worker, "ticks", NO_TICKS)
