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
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import batched, pairwise, starmap
from multiprocessing import get_context
from multiprocessing.connection import Connection
from operator import attrgetter
from pathlib import Path
from typing import Any, Self

import msgspec
import numpy as np
import pandas as pd

from scaling.analysis.arrays import Integers
from scaling.analysis.table.column import OBJECT, WORD, SomeRuns
from scaling.analysis.table.columns import COLUMNS, EVERY, FIELDS
from scaling.analysis.table.empty_loop import without_loop
from scaling.analysis.table.marks import label_outliers, late_generators, marked, mixed_states
from scaling.analysis.table.stacks import Readings, readings
from scaling.analysis.validity.served import GeneratorKind, kind_of, unlike_generators
from scaling.base.errors import UsageError
from scaling.journal.reading import WHOLE, find_journal, read_lines
from scaling.journal.record import CeilingLine, Line, RunLine, StudyLine, Ticks

# --------------------------------------------------------------------------------------------- rows
# The columns of some runs, each computed when it is first needed; and what judges a single run.


class Rows(SomeRuns):
    """Columns by name, one value for each of `runs`: arrays of numbers and flags, lists of others.

    Those that only serve to judge runs are among them.
    """

    def __missing__(self, name: str) -> Any:
        column = EVERY[name]
        values = column.read(self) if callable(column.read) else self._fields[name]
        self[name] = found = np.asarray(values, column.dtype) if column.is_array else values
        return found

    @cached_property
    def _fields(self) -> dict[str, tuple[Any, ...]]:
        """The columns that are fields of the run's line.

        Each run is looked at once for all of them. One pass for each column would load every run
        into a core's cache that many times.
        """
        return dict(zip(FIELDS, zip(*map(_read_fields, self.runs), strict=True), strict=True))


_read_fields = attrgetter(*FIELDS.values())


def busy_judge_of(study: StudyLine) -> Callable[[RunLine], str | None]:
    """A judge of the study's runs: what others took of the machine, None where it was quiet."""

    def why_busy(run: RunLine) -> str | None:
        (findings,) = Rows([run], study).findings
        return next((each.detail for each in findings if each.word == "machine-busy"), None)

    return why_busy


def judge_of(study: StudyLine) -> Callable[[RunLine], str | None]:
    """A judge of the study's runs: says why a run is invalid, None where it is not.

    It judges as the frame does, but for what shows only between runs of one cell
    (`scaling.analysis.table.marks`): two allocator states, or a generator that is late in most
    runs, are the cell's, and would be there again.
    """

    def why_invalid(run: RunLine) -> str | None:
        (findings,) = Rows([run], study).findings
        reasons = [
            f"{each.word} ({each.detail})" for each in findings if each.severity == "invalid"
        ]
        return "; ".join(reasons) or None

    return why_invalid


# -------------------------------------------------------------------------------------------- frame
# Runs to a frame: columns in their dtypes, gathered some runs at a time.

# Enough for numpy to pay off, few enough to stay in a core's cache.
RUNS_AT_A_TIME = 1024

VALIDITIES = ["valid", "suspect", "invalid"]


class _Codes(dict[Any, int]):
    """A number for each word, in the order in which they are first looked up."""

    def __missing__(self, word: Any) -> int:
        self[word] = code = len(self)
        return code


class Gathered:
    """What a journal, or a part of it, holds: the columns of its runs, the limits of its services,
    notes on lines that were skipped. The `study` is that of the whole.

    Numbers are kept as arrays and words as codes, so that a large journal needs little memory.
    """

    def __init__(self, study: StudyLine, notes: list[str]) -> None:
        self.study = study
        self.ceilings: list[CeilingLine] = []
        self.notes = notes
        self._values: dict[str, list[Any]] = {name: [] for name in COLUMNS}
        self._generators: list[GeneratorKind | None] = []
        self._codes = {name: _Codes() for name, column in COLUMNS.items() if column.dtype == WORD}

    def add(self, runs: Sequence[RunLine], ticks: Sequence[Readings | None] | None = None) -> None:
        """Append some runs, with their readings where their records no longer have them."""
        rows = Rows(runs, self.study, ticks)
        self._generators += [kind_of(run.load) for run in runs]
        for name, column in COLUMNS.items():
            if column.dtype == WORD:
                codes = map(self._codes[name].__getitem__, rows[name])
                self._values[name].append(np.fromiter(codes, np.int64, len(runs)))
            elif column.is_array:
                self._values[name].append(rows[name])
            else:
                self._values[name] += rows[name]

    def extend(self, later: Self) -> None:
        """Append all that the next part holds."""
        self.ceilings += later.ceilings
        self.notes += later.notes
        self._generators += later._generators
        for name, values in later._values.items():
            if name in self._codes:
                codes = np.array([self._codes[name][word] for word in later._codes[name]], np.int64)
                self._values[name] += [codes[each] for each in values]
            else:
                self._values[name] += values

    def frame(self) -> pd.DataFrame:
        """All runs that were added, marked where one differs from others of its cell."""
        # Not copied: to bring all numbers of a large journal together takes longer than to keep
        # them as they are.
        frame = pd.DataFrame({name: self._column(name) for name in COLUMNS}, copy=False)
        frame = marked(frame, unlike_generators(self._generators))
        for find in (mixed_states, late_generators):  # each leaves out what was found before
            frame = marked(frame, find(frame))
        frame = without_loop(frame)
        return frame.assign(outlier=label_outliers(frame))

    def _column(self, name: str) -> Any:
        values, column = self._values[name], COLUMNS[name]
        if name in self._codes:
            codes = np.concatenate([np.array([], np.int64), *values])
            return _categorical(name, list(self._codes[name]), codes)
        if column.is_array:
            return np.concatenate([np.array([], column.dtype), *values])
        if column.dtype == OBJECT:
            return pd.Series(values, dtype=object)
        if column.dtype == "boolean":
            return pd.array(values, dtype="boolean")
        times = pd.to_datetime(values, utc=True, errors="coerce", format="ISO8601")
        return times.astype(column.dtype)


def _categorical(name: str, words: list[Any], places: Integers) -> Any:
    """The words at these places, as `pd.Categorical` has them, in a tenth of the time it takes."""
    known = VALIDITIES if name == "validity" else sorted(word for word in words if word is not None)
    codes = {word: code for code, word in enumerate(known)}
    coded = np.array([codes.get(word, -1) for word in words], np.int64)
    categories = pd.Index(known) if known else pd.Index([], dtype="str")  # text, also in Parquet
    return pd.Categorical.from_codes(coded[places], categories)


def live_frame(runs: Iterable[RunLine], study: StudyLine) -> pd.DataFrame:
    """The frame of a study that is still being measured, of which some runs at a time are kept.

    `scaling.load` would give the same for the study's journal at this moment.
    """
    gathered = Gathered(study, [])
    for some in batched(runs, RUNS_AT_A_TIME):
        gathered.add(some)
    return gathered.frame()


def joined(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Frames one below the other; `concat` makes objects of categories that differ."""
    whole = pd.concat(frames, ignore_index=True)
    whole["validity"] = pd.Categorical(whole["validity"], VALIDITIES)
    return whole.astype({name: column.dtype for name, column in COLUMNS.items()})


# -------------------------------------------------------------------------------------------- parts
# A journal in parts, of 64 MiB or more, one on each CPU; in each some hundred runs at a time.
#
# Ticks are nearly all of a journal and would not fit into memory together.

NO_TICKS = Ticks()
CTRL_C = [signal.SIGINT]  # left to the process that waits for the others
PART_BYTES = 64 << 20  # smaller ones take longer to hand over than to read
HANDED_OVER = 0.05  # of the time to read a part: to hand over what was read of it


def read_runs(file: Path) -> Gathered:
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
    """The bytes of each part; a small or a packed journal is one. The first part is the largest:
    what is read of the others must be handed over.
    """
    size = file.stat().st_size
    most = len(os.sched_getaffinity(0)) if _can_fork() and file.suffix != ".gz" else 1
    count = max(1, min(most, size // PART_BYTES))
    ends = [
        round(size * (place + HANDED_OVER) / (count + HANDED_OVER)) for place in range(1, count)
    ]
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
        read: Gathered | UsageError = _read(file, part)
    except UsageError as error:
        read = error
    with suppress(BrokenPipeError):  # nobody waits any more
        through.send(read)


def _received(file: Path, reader: Connection) -> Gathered:
    try:
        read: Gathered | UsageError = reader.recv()
    except EOFError:
        raise UsageError(
            f"{file}: a process that read a part of it was ended, perhaps for want of memory; "
            f"to read it in one process: taskset -c 0 scaling …"
        ) from None
    if isinstance(read, UsageError):
        raise read
    return read


def _read(file: Path, part: range) -> Gathered:
    notes: list[str] = []
    lines = read_lines(file, notes.append, part)
    study = next(lines)
    assert isinstance(study, StudyLine)
    read = Gathered(study, notes)
    for some in batched(_runs(lines, read.ceilings), RUNS_AT_A_TIME):
        runs, ticks = zip(*some, strict=True)
        read.add(runs, ticks)
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


# --------------------------------------------------------------------------------------------- load

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
        # All numbers together, so that columns can be added to them.
        return journals[0].frame.copy()
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


def _numbered(names: list[str]) -> list[str]:
    """The names, with a number where one comes again: `scale`, `scale #2`."""
    seen: dict[str, int] = {}
    unique = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        unique.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return unique
