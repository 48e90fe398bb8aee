"""Latencies of a timed run: the histograms of its workers together, and their percentiles.

A percentile needs samples beyond it: P90 is given from 10 operations on, P95 from 20, P99 from 100,
P99.9 from 1,000 (PITFALLS.md, 24). Each is the middle of the bucket of the nearest rank; buckets
are at most 2**-7 of their value wide, so it is within 0.4 % of the operation of that rank.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scaling.analysis.table.column import COUNT, OBJECT, Column, Read, Shown
from scaling.analysis.table.stacks import Floats, Integers
from scaling.journal.record import Latency, RunLine

if TYPE_CHECKING:
    from scaling.analysis.table.rows import Rows

S_PER_NS = 1e-9
EXACT_BITS = 8  # values of no more bits have a bucket each

MEAN, OPERATIONS = "latency_mean_s", "latencies"


class Percentile(NamedTuple):
    """The share of the operations that are no slower, and of how many at least it is given."""

    share: float
    fewest: int


PERCENTILES = {
    "latency_p50_s": Percentile(0.5, 1),
    "latency_p90_s": Percentile(0.9, 10),
    "latency_p95_s": Percentile(0.95, 20),
    "latency_p99_s": Percentile(0.99, 100),
    "latency_p999_s": Percentile(0.999, 1_000),
}


def _summaries(rows: "Rows") -> list[dict[str, float]]:
    return list(map(_summary, rows.runs))


def _summary(run: RunLine) -> dict[str, float]:
    workers = run.record.workers if run.record is not None else ()
    timed = [worker.latency for worker in workers if worker.latency is not None]
    return summary(timed) if timed else {}


def summary(histograms: Iterable[Latency]) -> dict[str, float]:
    """Mean, percentiles and count of some histograms together; without those of too few operations.

    Keys are names of columns.
    """
    whole = [each for each in histograms if len(each.value_ns) == len(each.count) > 0]
    edges = np.array([edge for each in whole for edge in each.value_ns], dtype=np.int64)
    counts = np.array([count for each in whole for count in each.count], dtype=np.int64)
    order = np.argsort(edges, kind="stable")
    values_s, below = middles_ns(edges[order]) * S_PER_NS, np.cumsum(counts[order])
    total = int(below[-1]) if len(below) else 0
    if total <= 0:
        return {OPERATIONS: 0}
    found = {OPERATIONS: float(total), MEAN: float(values_s @ counts[order]) / total}
    for name, (share, fewest) in PERCENTILES.items():
        if total >= fewest:
            rank = int(np.ceil(round(share * total, 6)))  # 0.9 × 10 is a little more than 9
            found[name] = float(values_s[np.searchsorted(below, rank)])
    return found


def middles_ns(edges: Integers) -> Floats:
    """The middle of each bucket by its lower edge: the HDR layout that `workers` counts in."""
    _, bits = np.frexp(edges.astype(np.float64))
    width = np.ldexp(1.0, np.maximum(bits - EXACT_BITS, 0))
    return np.asarray(edges + (width - 1) / 2, dtype=np.float64)


def _of_summary(name: str, otherwise: float = np.nan) -> Read:
    return lambda rows: [found.get(name, otherwise) for found in rows["latency_summary"]]


def _in_s(name: str, definition: str, words: str, place: int, **how: bool) -> Column:
    return Column(
        read=_of_summary(name),
        unit="s",
        definition=definition,
        words=f"{words} latency",
        better="less",
        shown=Shown(
            heading=f"{words} latency ms",
            name=f"{name.removesuffix('_s')}_ms",
            factor=1e3,
            place=place,
            **how,
        ),
    )


def _percentile(name: str, words: str, place: int, **how: bool) -> Column:
    share, fewest = PERCENTILES[name]
    definition = f"{100 * share:g}th percentile, from {fewest:,} operations on"
    if fewest == 1:
        definition = "median time of an operation"
    return _in_s(name, definition, words, place, **how)


LATENCY = {
    "latency_summary": Column(
        read=_summaries, dtype=OBJECT, definition="all that follow, a dict", in_frame=False
    ),
    OPERATIONS: Column(
        read=_of_summary(OPERATIONS, 0),
        dtype=COUNT,
        definition="how many operations were timed; 0 but in timed cells",
    ),
    MEAN: _in_s(MEAN, "mean time of an operation, all workers", "mean", 70, swept=True),
    "latency_p50_s": _percentile("latency_p50_s", "P50", 90, extra=True),
    "latency_p90_s": _percentile("latency_p90_s", "P90", 95, extra=True),
    "latency_p95_s": _percentile("latency_p95_s", "P95", 100, extra=True),
    "latency_p99_s": _percentile("latency_p99_s", "P99", 75, swept=True),
    "latency_p999_s": _percentile("latency_p999_s", "P99.9", 110, extra=True),
}
