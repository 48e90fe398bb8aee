"""The latencies of one cell, run by run: the histograms that a frame has only figures of.

scaling.latency("results/latency", {"workload": "serve", "arm": "3.14t", "workers": 2,
"parameters": {"rate_per_s": 2000.0}})
"""

import os
from collections.abc import Mapping

import numpy as np
import pandas as pd

from scaling.analysis.lookup.cells import cell_of, text, wanted
from scaling.analysis.lookup.figure import results_of
from scaling.analysis.table.latency import counted
from scaling.analysis.table.load import Journal, read_journal
from scaling.analysis.table.timed_runs import TimedRun, timed_runs
from scaling.base.errors import UsageError

type Source = Journal | str | os.PathLike[str]


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
    blocks, fields = results_of(read).blocks, wanted(cell)
    if "workers" not in fields:
        raise UsageError("latencies are of a number of workers: name the cell's `workers`")
    rows = blocks.rows[:, blocks.place[cell_of(blocks, fields)]]
    runs = blocks.frame.iloc[rows[rows >= 0]]
    found = [_distribution(each) for each in timed_runs(read, runs)]
    if not found:
        raise UsageError(f"{text(fields)}: has no valid run whose operations were timed")
    return pd.concat(found, ignore_index=True)


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
