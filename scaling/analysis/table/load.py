"""Journal to table: one row per run, everything derived from what was written down.

`load` is what a notebook wants, `read_journal` what the commands use: the same table with the
study it belongs to. Runs are read and worked out a few hundred at a time, so that their ticks,
which are nearly all of a journal, never are in memory together.
"""

import os
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pandas as pd

from scaling.analysis.table.columns import COLUMNS, columns_markdown
from scaling.analysis.table.mixing import mark_mixed_states
from scaling.analysis.table.outliers import label_outliers
from scaling.analysis.table.sharing import read_all
from scaling.analysis.table.typed import joined
from scaling.base.errors import UsageError
from scaling.journal.reading import find_journal
from scaling.journal.record import CeilingLine, StudyLine

__all__ = ["COLUMNS", "Journal", "JournalWarning", "columns_markdown", "load", "read_journal"]

type Source = str | os.PathLike[str]


class JournalWarning(UserWarning):
    """A line of a journal was skipped."""


@dataclass(frozen=True, slots=True, eq=False)  # one is the same as itself: frames have no ==
class Journal:
    """A journal, read: its study, its runs, what its services can do, what was skipped."""

    path: Path
    study: StudyLine
    frame: pd.DataFrame
    ceilings: list[CeilingLine]
    notes: list[str]


def load(path: Source | Iterable[Source]) -> pd.DataFrame:
    """Runs of one journal or several: one row a run, columns as in
    `scaling.analysis.table.columns.COLUMNS`.

    `path` is the folder of a study, a journal file (`.jsonl` or `.jsonl.gz`), or a list of those.
    Studies of the same name are told apart by a number in the column `study`. Lines that cannot be
    read are skipped with a `JournalWarning`; a torn last line is passed over in silence.

    Raises:
        UsageError: no journal there, none in it, no run in it, or a newer one than we can read.
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
    names = _told_apart([journal.study.name for journal in journals])
    frames = [
        journal.frame.assign(study=name) for journal, name in zip(journals, names, strict=True)
    ]
    return joined(frames)


def read_journal(path: Source) -> Journal:
    """One journal with its study. Raises `UsageError` as `load` does, and warns of nothing."""
    file = find_journal(Path(path))
    parts = read_all(file)
    frame = joined([part.frame for part in parts])
    if frame.empty:
        raise UsageError(f"{file}: holds no run yet; `scaling run --output {file.parent}` goes on")
    frame = mark_mixed_states(frame)
    return Journal(
        file,
        parts[0].study,
        frame.assign(outlier=label_outliers(frame)),
        list(chain.from_iterable(part.ceilings for part in parts)),
        list(chain.from_iterable(part.notes for part in parts)),
    )


def _told_apart(names: list[str]) -> list[str]:
    """Each name once: those that come again get a number."""
    seen: dict[str, int] = {}
    apart = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        apart.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return apart
