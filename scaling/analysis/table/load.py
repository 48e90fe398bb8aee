"""Journal to table: one row per run, everything derived from what was written down.

`load` is what a notebook uses, `read_journal` what the commands use: the same table with the study
that it belongs to.
"""

import gc
import os
import shlex
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import batched, chain, pairwise, repeat
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals

from scaling.analysis.column import WORD
from scaling.analysis.rows import Rows
from scaling.analysis.stacks import Readings, readings
from scaling.analysis.table.columns import COLUMNS, EVERY
from scaling.analysis.table.empty_loop import without_loop
from scaling.analysis.table.marks import label_outliers, late_generators, marked, mixed_states
from scaling.analysis.validity.finding import Finding
from scaling.analysis.validity.served import GeneratorKind, kind_of, unlike_generators
from scaling.base.errors import UsageError
from scaling.journal.reading import WHOLE, find_journal, read_split
from scaling.journal.record import CeilingLine, Line, RatesLine, RunLine, SplitRun, StudyLine


def rows_of(
    runs: Sequence[RunLine], study: StudyLine, ticks: Sequence[Readings | None] | None = None
) -> Rows:
    """Every column of some runs, also those that only serve to judge them."""
    return Rows(runs, study, EVERY, ticks)


# ------------------------------------------------------------------------------------------- judges


def _findings(run: RunLine, study: StudyLine) -> tuple[Finding, ...]:
    (found,) = rows_of([run], study)["findings"]
    return tuple(found)


def busy_judge_of(study: StudyLine) -> Callable[[RunLine], str | None]:
    """A judge of the study's runs: what others took of the machine, None where it was quiet."""

    def why_busy(run: RunLine) -> str | None:
        found = _findings(run, study)
        return next((each.detail for each in found if each.word == "machine-busy"), None)

    return why_busy


def judge_of(study: StudyLine) -> Callable[[RunLine], str | None]:
    """A judge of the study's runs: says why a run is invalid, None where it is not.

    It judges as the frame does, but for what shows only between runs of one cell
    (`scaling.analysis.table.marks`): two allocator states, or a generator that is late in most
    runs, are the cell's, and would be there again.
    """

    def why_invalid(run: RunLine) -> str | None:
        invalid = [each for each in _findings(run, study) if each.severity == "invalid"]
        return "; ".join(f"{each.word} ({each.detail})" for each in invalid) or None

    return why_invalid


# -------------------------------------------------------------------------------------------- frame
# Runs to a frame: columns in their dtypes, gathered some runs at a time.

RUNS_AT_A_TIME = 2048  # fewer take numpy longer; the records of more need much memory

VALIDITIES = ["valid", "suspect", "invalid"]


class Gathered:
    """The content of a journal, or of a part: its runs, the limits of its services, notes on lines
    that were skipped. The `study` is that of the whole.
    """

    def __init__(self, study: StudyLine, notes: list[str]) -> None:
        self.study = study
        self.ceilings: list[CeilingLine] = []
        self.notes = notes
        self._parts: list[pd.DataFrame] = []
        self._values: dict[str, list[Any]] = {name: [] for name in COLUMNS}  # of some runs each
        self._generators: list[GeneratorKind | None] = []
        self._words: dict[Any, Any] = {}  # a word that many runs have is kept once

    def add(self, runs: Sequence[RunLine], ticks: Sequence[Readings | None] | None = None) -> None:
        """Append some runs, with their readings where their records do not have them."""
        rows = rows_of(runs, self.study, ticks)
        self._generators += [kind_of(run.load) for run in runs]
        for name, column in COLUMNS.items():
            values = rows[name]
            if column.dtype == WORD:
                values = list(map(self._words.setdefault, values, values))
            self._values[name].append(values)

    def end_part(self) -> None:
        """Put the runs that were added into columns, so that there is less to hand over."""
        # Not copied: to bring all numbers of a large journal together takes longer than to keep
        # them as they are.
        part = {name: _column(name, values) for name, values in self._values.items()}
        self._parts.append(pd.DataFrame(part, copy=False))
        self._values, self._words = {}, {}

    def extend(self, later: Self) -> None:
        """Append all that the next part holds."""
        self.study = later.study if later.study.calibrations else self.study
        self.ceilings += later.ceilings
        self.notes += later.notes
        self._generators += later._generators
        self._parts += later._parts

    def frame(self) -> pd.DataFrame:
        """The runs of all parts, marked where one differs from others of its cell."""
        parts = self._parts
        frame = parts[0] if len(parts) == 1 else _joined(parts)
        frame = marked(frame, unlike_generators(self._generators))
        for find in (mixed_states, late_generators):  # each leaves out what was found before
            frame = marked(frame, find(frame))
        frame = without_loop(frame)
        return frame.assign(outlier=label_outliers(frame))


def _column(name: str, parts: Sequence[Any]) -> Any:
    column = COLUMNS[name]
    if column.is_array:
        return np.concatenate([np.array([], column.dtype), *parts])
    values = list(chain.from_iterable(parts))
    if column.dtype == WORD:
        words = pd.array(values, dtype="str")  # text also where all is blank, as in Parquet
        return pd.Categorical(words, VALIDITIES if name == "validity" else None)
    if column.dtype.startswith("datetime"):
        times = pd.to_datetime(values, utc=True, errors="coerce", format="ISO8601")
        return times.astype(column.dtype)
    return pd.Series(values, dtype=column.dtype)


def _joined(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    columns: dict[str, Any] = {}
    for name, column in COLUMNS.items():
        own = [part[name] for part in parts]
        if column.dtype == WORD:  # `concat` makes objects of categories that differ
            columns[name] = union_categoricals(own, sort_categories=name != "validity")
        else:
            columns[name] = pd.concat(own, ignore_index=True)
    return pd.DataFrame(columns, copy=False)


# -------------------------------------------------------------------------------------------- parts
# A journal in parts, of 64 MiB or more, one on each CPU; in each some thousand runs at a time.
#
# The ticks of all would not fit into memory together. Of 100,000 runs one process takes 1.7 times
# as long as two.

PART_BYTES = 64 << 20  # smaller ones take longer to hand over than to read


def read_runs(file: Path) -> Gathered:
    """All of a journal: in parts by a process each, where it is large.

    Raises:
        UsageError: as `read_lines` does, or a process was killed.
    """
    parts = _parts(file)
    if len(parts) > 1:
        with suppress(OSError):  # no process can be started: too many, or no memory for one
            return _read_at_once(file, parts)
    return _read(file, WHOLE)


def _parts(file: Path) -> list[range]:
    """The bytes of each part; a small or a packed journal is one.

    So is any journal where a fork is not safe: a process with several threads, such as a
    notebook's, may hold locks that no thread of the fork would release. A fresh process would
    import for as long as it reads. numpy ends its own threads before a fork.
    """
    may_fork = sys.platform == "linux" and threading.active_count() == 1
    if not may_fork or file.suffix == ".gz":
        return [WHOLE]
    size = file.stat().st_size
    count = max(1, min(len(os.sched_getaffinity(0)), size // PART_BYTES))
    ends = [size * place // count for place in range(count)]
    return [range(*each) for each in pairwise([*ends, WHOLE.stop])]


def _read_at_once(file: Path, parts: Sequence[range]) -> Gathered:
    from concurrent.futures import ProcessPoolExecutor  # slow to import
    from concurrent.futures.process import BrokenProcessPool

    import scipy.special  # noqa: F401  # once, and not by each process

    at_ctrl_c = (signal.SIGINT, signal.SIG_DFL)  # it ends them without a word
    fork = get_context("fork")
    with ProcessPoolExecutor(len(parts) - 1, fork, signal.signal, at_ctrl_c) as processes:
        try:
            others = processes.map(_read, repeat(file), parts[1:])
            first, later = _read(file, parts[0]), list(others)
        except BrokenProcessPool:
            raise UsageError(
                f"{file}: a process that read a part of it was ended, perhaps for want of memory; "
                f"to read it in one process: taskset -c 0 scaling …"
            ) from None
    for each in later:
        first.extend(each)
    return first


def _read(file: Path, part: range) -> Gathered:
    notes: list[str] = []
    lines = read_split(file, notes.append, part)
    study = next(lines)
    assert isinstance(study, StudyLine)
    read = Gathered(study, notes)
    for some in batched(_runs(lines, read), RUNS_AT_A_TIME):
        runs, ticks = zip(*some, strict=True)
        read.add(runs, ticks)
    read.end_part()
    return read


def _runs(
    lines: Iterator[Line | SplitRun], into: Gathered
) -> Iterator[tuple[RunLine, Readings | None]]:
    """The runs among the lines with their readings; all others go `into` what was gathered."""
    for line in lines:
        if isinstance(line, SplitRun):
            yield line.run, readings(line.run.record, line.ticks)
        elif isinstance(line, CeilingLine):
            into.ceilings.append(line)
        elif isinstance(line, RatesLine):
            into.study = line.of(into.study)


# --------------------------------------------------------------------------------------------- load

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


def load(path: Source) -> pd.DataFrame:
    """Load the runs of one journal: a row per run, with the columns of
    `scaling.analysis.table.columns.COLUMNS`.

    `path` is the folder of a study, or a journal file (`.jsonl` or `.jsonl.gz`). Lines that cannot
    be read are skipped with a `JournalWarning`; a torn last line is skipped silently.

    Raises:
        UsageError: no journal there, an empty one, one without runs, or one of a newer version.
    """
    journal = read_journal(path)
    for note in journal.notes:
        warnings.warn(note, JournalWarning, stacklevel=2)
    return journal.frame.copy()  # all numbers together, so that columns can be added to them


def read_journal(path: Source) -> Journal:
    """Load one journal with its study. Raises `UsageError` as `load` does; does not warn."""
    file = find_journal(Path(path))
    with _no_collections():
        read = read_runs(file)
        frame = read.frame()
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
