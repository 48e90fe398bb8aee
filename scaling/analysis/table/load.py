"""Journal to table: one row per run, everything derived from what was written down.

`load` is what a notebook uses, `read_journal` what the commands use: the same table with the study
that it belongs to. Some hundred runs are decoded at a time, because ticks are nearly all of a
journal and would not fit into memory together.
"""

import gc
import os
import shlex
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import msgspec
import pandas as pd

from scaling.analysis.table.frame import RUNS_AT_A_TIME, FrameBuilder, joined
from scaling.analysis.table.rows import Rows, expectations
from scaling.analysis.table.stacks import Readings, readings
from scaling.base.errors import UsageError
from scaling.journal.reading import find_journal, read_lines
from scaling.journal.record import CeilingLine, Line, RunLine, StudyLine, Ticks

__all__ = ["Journal", "JournalWarning", "load", "read_journal"]

NO_TICKS = Ticks()

type Source = str | os.PathLike[str]


class JournalWarning(UserWarning):
    """A line of a journal was skipped."""


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)  # by identity: frames have no ==
class Journal:
    """A journal in memory: its study, its runs, the limits of its services, what was skipped."""

    path: Path
    study: StudyLine
    frame: pd.DataFrame
    ceilings: list[CeilingLine]
    notes: list[str]


def load(path: Source | Iterable[Source]) -> pd.DataFrame:
    """Load the runs of one journal or several: a row per run, with the columns of
    `scaling.analysis.table.columns.COLUMNS`.

    `path` is the folder of a study, a journal file (`.jsonl` or `.jsonl.gz`), or a list of those.
    Studies of the same name get a number in the column `study`. Lines that cannot be read are
    skipped with a `JournalWarning`; a torn last line is skipped silently.

    Raises:
        UsageError: no journal there, an empty one, one without runs, or one of a newer version.
    """
    paths = [path] if isinstance(path, str | os.PathLike) else list(path)
    if not paths:
        raise UsageError("no journal was named; give the folder of a study")
    journals = [read_journal(each) for each in paths]
    for journal in journals:
        for note in journal.notes:
            warnings.warn(note, JournalWarning, stacklevel=2)
    if len(journals) == 1:
        return journals[0].frame
    names = _numbered([journal.study.name for journal in journals])
    frames = [
        journal.frame.assign(study=name) for journal, name in zip(journals, names, strict=True)
    ]
    return joined(frames)


def read_journal(path: Source) -> Journal:
    """Load one journal with its study. Raises `UsageError` as `load` does; does not warn."""
    file = find_journal(Path(path))
    notes: list[str] = []
    lines = read_lines(file, notes.append)
    study = next(lines)
    assert isinstance(study, StudyLine)
    expected = expectations(study)
    ceilings: list[CeilingLine] = []
    built = FrameBuilder()
    with _no_collections():
        for runs, ticks in _batches(lines, ceilings):
            built.add(Rows(runs, study, expected, ticks))
        frame = built.frame()
    if frame.empty:
        folder = shlex.quote(str(file.parent))
        raise UsageError(f"{file}: holds no run yet; `scaling run --output {folder}` goes on")
    return Journal(file, study, frame, ceilings, notes)


@contextmanager
def _no_collections() -> Iterator[None]:
    """Disable the garbage collector: it would traverse millions of integers without a cycle.

    That takes a fifth of the time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


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


def _numbered(names: list[str]) -> list[str]:
    """The names, with a number where one comes again: `scale`, `scale #2`."""
    seen: dict[str, int] = {}
    unique = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        unique.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return unique
