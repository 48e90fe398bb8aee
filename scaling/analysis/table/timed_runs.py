"""The runs of a journal that count, with all that it has of them: histograms, courses, commands.

A frame has only figures of these.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from scaling.analysis.table.groups import CELL
from scaling.analysis.table.latency import Counted, counted, histograms_of
from scaling.analysis.table.load import Journal
from scaling.journal.reading import read_lines
from scaling.journal.record import Cell, Latency, Parameters, RunLine


@dataclass(frozen=True, slots=True)
class TimedRun:
    """The latencies of one run that counts; `unfinished` of them are latencies so far."""

    cell: Cell
    block: int
    histograms: Sequence[Latency]
    unfinished: Latency

    @property
    def counted(self) -> Counted:
        """All of them."""
        return counted(self.histograms)


def timed_runs(journal: Journal, runs: pd.DataFrame) -> Iterator[TimedRun]:
    """The latencies of those of the runs (rows of the journal's frame) that count, from its file.

    Runs whose operations were not timed are left out.
    """
    for line in counting_lines(journal.path, runs[runs["latencies"] > 0]):
        unfinished = line.load.unfinished if line.load is not None else Latency()
        yield TimedRun(line.cell, line.block, histograms_of(line), unfinished)


def counting_lines(path: Path, runs: pd.DataFrame) -> Iterator[RunLine]:
    """Those of the runs (rows of a journal's frame) that count, as the journal at `path` has them:
    valid, the last attempt, no A/A duplicate.
    """
    valid = runs[runs["valid"] & ~runs["twin"]]
    counting = dict(zip(_keys(valid), valid["attempt"].tolist(), strict=True))  # the last of each
    for line in read_lines(path, lambda _: None):
        if not isinstance(line, RunLine) or line.cell.twin:
            continue
        if counting.get(_key(line)) == line.attempt:
            yield line


def _keys(runs: pd.DataFrame) -> Iterator[tuple[object, ...]]:
    return runs[[*CELL[1:], "block"]].itertuples(index=False, name=None)


def _key(run: RunLine) -> tuple[object, ...]:
    """What a row of a frame has in these columns."""
    values = {name: getattr(run.cell, name) for name in CELL[1:]}
    values["parameters"] = Parameters.of(run.cell.parameters).text
    return (*values.values(), run.block)
