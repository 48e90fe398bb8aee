"""The latencies of one cell, run by run: the histograms that a frame has only figures of.

scaling.latency("results/latency", {"workload": "serve", "arm": "3.14t", "workers": 2,
"parameters": {"rate_per_s": 2000.0}})
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import pandas as pd

from scaling.analysis.lookup.named_cell import PLACE, curve_of, named
from scaling.analysis.table.latency import Counted, counted, histograms_of
from scaling.analysis.table.load import Journal, read_journal
from scaling.base.errors import UsageError
from scaling.journal.reading import read_lines
from scaling.journal.record import Cell, Latency, RunLine

_parameters = msgspec.json.Encoder(order="sorted")

type Source = Journal | str | os.PathLike[str]


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


def latency(journal: Source, cell: Mapping[str, object]) -> pd.DataFrame:
    """How latencies of a cell are distributed: a row for each bucket of each run's histogram.

    `journal` is one that `scaling.read` gave, or its path; `cell` names the cell as for
    `scaling.figure`. Columns: `block`; `latency_s`, the middle of the bucket, which is at most
    0.8 % wide; `count`, the requests in it, `unfinished` of which had no answer when the window
    closed and count with their latency so far; `share`, of the run's requests those that were no
    slower. Runs that count: valid, the last attempt, no A/A duplicate.

    Raises:
        UsageError: no such journal, no such cell (the message has the nearest one), several, or
            its operations were not timed.
    """
    read = journal if isinstance(journal, Journal) else read_journal(journal)
    wanted = named(cell)
    if wanted.workers is None:
        raise UsageError("latencies are of a number of workers: name the cell's `workers`")
    runs = curve_of(read, wanted)
    runs = runs[runs["workers"] == wanted.workers]
    found = [_distribution(each) for each in timed_runs(read, runs)]
    if not found:
        raise UsageError(f"{wanted.text}: has no valid run whose operations were timed")
    return pd.concat(found, ignore_index=True)


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


def _distribution(run: TimedRun) -> pd.DataFrame:
    every, unfinished = run.counted, counted([run.unfinished])
    place = np.searchsorted(every.values_s, unfinished.values_s)
    return pd.DataFrame(
        {
            "block": run.block,
            "latency_s": every.values_s,
            "count": every.counts,
            "unfinished": np.bincount(
                place, weights=unfinished.counts, minlength=len(every.counts)
            ).astype(np.int64),
            "share": np.cumsum(every.counts) / every.total,
        }
    )


def _keys(runs: pd.DataFrame) -> Iterator[tuple[object, ...]]:
    return runs[[*PLACE, "workers", "block"]].itertuples(index=False, name=None)


def _key(run: RunLine) -> tuple[object, ...]:
    cell = run.cell
    parameters = _parameters.encode(cell.parameters).decode()
    place = (cell.workload, cell.arm, cell.loop, cell.model, cell.sizing, parameters)
    return (*place, cell.workers, run.block)
