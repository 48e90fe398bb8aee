"""Journal to table: one row per run, everything derived from what was written down.

`load` is what a notebook uses, `read_journal` what the commands use: the same table with the study
that it belongs to.
"""

import gc
import os
import shlex
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from scaling.analysis.table.frame import joined
from scaling.analysis.table.parts import read_runs
from scaling.base.errors import UsageError
from scaling.journal.reading import find_journal
from scaling.journal.record import CeilingLine, StudyLine

__all__ = ["Journal", "JournalWarning", "load", "read_journal"]

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
    with _no_collections():
        read = read_runs(file)
        frame = read.built.frame()
    if frame.empty:
        folder = shlex.quote(str(file.parent))
        raise UsageError(f"{file}: holds no run yet; `scaling run --output {folder}` goes on")
    return Journal(file, read.study, frame, read.ceilings, read.notes)


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


def _numbered(names: list[str]) -> list[str]:
    """The names, with a number where one comes again: `scale`, `scale #2`."""
    seen: dict[str, int] = {}
    unique = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        unique.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return unique
