"""Latencies of a timed run: the histograms of its workers together, and their percentiles.

A percentile needs samples beyond it: P90 is given from 10 on, P95 from 20, P99 from 100, P99.9 from
1,000 (PITFALLS.md, 24). Each is the nearest rank's bucket, by its middle; buckets are at most 2**-7
of their value wide, so it is within 0.4 % of the operation of that rank.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from scaling.analysis.table.stacks import Floats, Integers
from scaling.journal.record import Latency, Record

# Column: (share of the operations that are no slower, fewest of them)
PERCENTILES = {
    "latency_p50_s": (0.5, 1),
    "latency_p90_s": (0.9, 10),
    "latency_p95_s": (0.95, 20),
    "latency_p99_s": (0.99, 100),
    "latency_p999_s": (0.999, 1_000),
}
MEAN, COUNT = "latency_mean_s", "latencies"

S_PER_NS = 1e-9
EXACT_BITS = 8  # values of no more bits have a bucket each


def latencies(records: Sequence[Record | None]) -> dict[str, Floats]:
    """Mean, percentiles and count for every record, NaN (count: 0) where nothing was timed.

    Shape: (len(records),) each.
    """
    found = {name: np.full(len(records), np.nan) for name in (MEAN, *PERCENTILES)}
    found[COUNT] = np.zeros(len(records))
    for row, record in enumerate(records):
        timed = [worker.latency for worker in record.workers] if record is not None else []
        kept = [latency for latency in timed if latency is not None]
        for name, value in summary(kept).items() if kept else ():
            found[name][row] = value
    return found


def summary(histograms: Iterable[Latency]) -> dict[str, float]:
    """The same of some histograms merged; figures that have too few operations are left out."""
    whole = [each for each in histograms if len(each.value_ns) == len(each.count) > 0]
    edges = np.array([edge for each in whole for edge in each.value_ns], dtype=np.int64)
    counts = np.array([count for each in whole for count in each.count], dtype=np.int64)
    order = np.argsort(edges, kind="stable")
    values_s, below = middles_ns(edges[order]) * S_PER_NS, np.cumsum(counts[order])
    total = int(below[-1]) if len(below) else 0
    if total <= 0:
        return {COUNT: 0}
    found = {COUNT: float(total), MEAN: float(values_s @ counts[order]) / total}
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
