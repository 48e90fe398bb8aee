"""A journal, or a part of it, as a frame: line by line, some hundred runs at a time."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from scaling.analysis.table.batches import expectations
from scaling.analysis.table.columns import COLUMNS
from scaling.analysis.table.rows import columns_of
from scaling.analysis.table.typed import frame_of
from scaling.journal.reading import Part, read_lines
from scaling.journal.record import CeilingLine, Line, RunLine, StudyLine

# Workers' ticks that are in memory as Python integers at a time: enough runs for numpy to pay,
# few enough to stay in a core's cache whatever N is.
AT_ONCE = 1 << 14


class Read(NamedTuple):
    """What was read of a part; the frame knows nothing yet of what shows only between its runs."""

    study: StudyLine
    frame: pd.DataFrame
    ceilings: list[CeilingLine]
    notes: list[str]


def read_part(path: Path, part: Part) -> Read:
    """Read and work out the runs of a part. Raises `UsageError` as `read_lines` does."""
    notes: list[str] = []
    lines = read_lines(path, notes.append, part)
    study = next(lines)
    assert isinstance(study, StudyLine)
    expected = expectations(study)
    ceilings: list[CeilingLine] = []
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    with _no_collections():
        for batch in _batches(lines, ceilings):
            found = columns_of(batch, study, expected)
            for name, column in columns.items():
                column.extend(found[name])
    return Read(study, frame_of(columns), ceilings, notes)


@contextmanager
def _no_collections() -> Iterator[None]:
    """Keep the garbage collector from looking through tick after tick: there are no cycles in them.

    It would take a fifth of the time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _batches(lines: Iterator[Line], ceilings: list[CeilingLine]) -> Iterator[list[RunLine]]:
    """The runs among the lines, some at a time; ceilings are put aside on the way."""
    batch: list[RunLine] = []
    ticks = 0
    for line in lines:
        if isinstance(line, CeilingLine):
            ceilings.append(line)
        elif isinstance(line, RunLine):
            batch.append(line)
            ticks += _ticks(line)
            if ticks >= AT_ONCE:
                yield batch
                batch, ticks = [], 0
    if batch:
        yield batch


def _ticks(run: RunLine) -> int:
    """About how many ticks a run has; at least one, so that no batch goes on for ever."""
    workers = run.record.workers if run.record is not None else []
    return 1 + (len(workers) * len(workers[0].ticks.time_ns) if workers else 0)
