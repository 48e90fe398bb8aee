"""Tables that a frame does not have: latencies of one cell, capacities of a study.

scaling.latency("results/latency", {"workload": "serve", "arm": "3.14t", "workers": 2,
"parameters": {"rate_per_s": 2000.0}})
scaling.capacity(scaling.StudyResults.of(scaling.read("results/latency")), slo="p99<20ms")
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from scaling.analysis.lookup.cells import cell_of, text, wanted
from scaling.analysis.lookup.figure import results_of
from scaling.analysis.ratios import Ratio, ratios
from scaling.analysis.results import StudyResults
from scaling.analysis.served.capacity import (
    Capacity,
    capacities,
    over_processes,
    with_capacities,
)
from scaling.analysis.table.groups import counting_lines
from scaling.analysis.table.latency import Counted, counted, histograms_of
from scaling.analysis.table.load import Journal, Source, read_journal
from scaling.base.errors import UsageError
from scaling.journal.record import Cell, Latency, Parameters
from scaling.study import questions
from scaling.study.kinds import parse_objective


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


def latency(journal: Journal | Source, cell: Mapping[str, object]) -> pd.DataFrame:
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


# --------------------------------------------------------------------------------------- capacities


def capacity(results: StudyResults, slo: str | Sequence[str] | None = None) -> pd.DataFrame:
    """Capacity at each objective, from `StudyResults`: requests/s of all workers together.

    A row for each configuration and objective. `slo` are objectives such as `"p99<20ms"`; None is
    for those that the study states; all ratios at others are exploratory. Columns:
    `workload`, `parameters` (JSON, without the rate), `sizing`, `loop`, `arm`, `model`, `workers`,
    `slo`; `capacity_per_s` with `_low` and `_high` (95 % interval, or range below six blocks), `n`
    blocks, `outside` of which lie outside the rates; `bound`: `≥` or `<` where the capacity itself
    does; `most_per_s`: that by latencies from the send where the load generator was late, else the
    same; `per_core` and `per_gib`; `over` (the strongest processes at that N), `ratio` to them with
    `_low`, `_high`, `verdict`, `family` and `why`. Where there is nothing to compare with, `over`
    is empty and the ratio NaN.

    Raises:
        UsageError: no objective, one that cannot be read, or no run of an open loop.
    """
    stated = results.objectives
    texts = [slo] if isinstance(slo, str) else slo
    objectives = stated if texts is None else list(map(parse_objective, texts))
    if not objectives:
        raise UsageError(
            f"the study {results.study.name} states no objective; name one, such as slo='p99<20ms'"
        )
    found, compared = results.capacities, results.ratios
    if objectives != stated:  # not named before the study
        found = capacities(results.blocks, objectives)
        texts = [each.text for each in objectives]
        blocks = replace(with_capacities(results.blocks, found), objectives=texts)
        compared = ratios(blocks, questions.capacities(blocks), exploratory=True)
    if not found:
        raise UsageError(
            f"the study {results.study.name} has no valid run at a rate (an open loop) with enough "
            "requests for the percentile"
        )
    return pd.DataFrame([_row(each, over_processes(each, compared)) for each in found])


def _row(each: Capacity, ratio: Ratio | None) -> dict[str, object]:
    cell, estimate = each.cell, each.estimate
    over = ratio.over if ratio else None
    return {
        "workload": cell.workload,
        "parameters": Parameters.of(cell.parameters).text,
        "sizing": cell.sizing,
        "loop": cell.loop,
        "arm": cell.arm,
        "model": cell.model,
        "workers": cell.workers,
        "slo": each.objective.text,
        "capacity_per_s": estimate.point,
        "capacity_per_s_low": estimate.low,
        "capacity_per_s_high": estimate.high,
        "bound": each.bound,
        "most_per_s": each.most.point,
        "n": estimate.n,
        "outside": each.outside,
        "per_core": each.per_core.point,
        "per_gib": each.per_gib.point,
        "over": f"{over.workers} {over.model} on {over.arm}" if over else "",
        "ratio": ratio.point if ratio else math.nan,
        "ratio_low": ratio.low if ratio else math.nan,
        "ratio_high": ratio.high if ratio else math.nan,
        "verdict": ratio.verdict.word if ratio else "",
        "family": ratio.verdict.family if ratio else "",
        "why": ratio.verdict.why if ratio else "",
    }
