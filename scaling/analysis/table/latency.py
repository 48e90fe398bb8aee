"""Latencies of a run: of a timed one those of its workers together, of a served one what its
clients saw, from the due time; requests without an answer count with their latency so far.

A percentile needs `BEYOND` samples beyond it: P50 is given from 40 operations on, P90 from 200, P95
from 400, P99 from 2,000, P99.9 from 20,000. Each is the middle of the bucket of the nearest rank;
buckets are at most 2**-7 of their value wide, so it is within 0.4 % of the operation of that rank.
"""

import math
from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple

import numpy as np
import pandas as pd

from scaling.analysis.arrays import Floats, Integers
from scaling.analysis.column import COUNT, OBJECT, Column, Noise, Read, Shown
from scaling.analysis.table.groups import p99_is_bound, sent_late
from scaling.journal.record import Latency, RunLine

# ------------------------------------------------------------------------------------------- bounds
# The least and the most that a latency can be where it is only a bound, run by run.
#
# The latencies of a server that fell behind are lower bounds, and so are those of one that declined
# requests, unless they are latencies of good answers alone. Where the load generator was late all
# of them are upper bounds, and those from the send are lower ones.

LATENCY_PREFIX, FROM_SEND, FIRST_BYTE = "latency_", "service_", "first_byte_"
SHORTEST_S = 1e-9  # stands for a latency of which only an upper bound is known


def may_be_one(measure: str) -> bool:
    """Return True if a measure is a latency of clients."""
    return measure.startswith((LATENCY_PREFIX, FIRST_BYTE))


def shortest_s(runs: pd.DataFrame, measure: str) -> "pd.Series[float]":
    """The least that a latency of each run can be: that from the send, where that was late."""
    from_send = measure.replace(LATENCY_PREFIX, FROM_SEND, 1)
    is_known = from_send != measure and from_send in runs
    known = runs[from_send] if is_known else pd.Series(np.nan, runs.index)
    late = sent_late(runs)
    return runs[measure].mask(late, known.fillna(SHORTEST_S)).astype(np.float64)


def has_no_most(runs: pd.DataFrame) -> "pd.Series[float]":
    """1 for each run whose true latency may be higher by any amount, 0 for the others."""
    return pd.Series(p99_is_bound(runs), index=runs.index, dtype=np.float64)


# ------------------------------------------------------------------------------------------ latency

S_PER_NS = 1e-9
EXACT_BITS = 8  # values of no more bits have a bucket each

MEAN, OPERATIONS = "latency_mean_s", "latencies"


SHARES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}
PERCENTILES = {f"latency_{name}_s": f"P{100 * share:g}" for name, share in SHARES.items()}
BEYOND = 20  # with fewer samples beyond it, a percentile is mostly chance


class Counted(NamedTuple):
    """Some histograms together: the middles of their buckets, ascending, and what is in each."""

    values_s: Floats
    counts: Integers

    @property
    def total(self) -> int:
        """The number of values."""
        return int(self.counts.sum())

    def quantiles_s(self, shares: Iterable[float]) -> list[float]:
        """For each share the smallest value that at least that share of all do not exceed.

        Needs a value.
        """
        total = self.total
        ranks = [math.ceil(round(share * total, 6)) for share in shares]  # 0.9 × 10 is above 9
        found: list[float] = self.values_s[np.searchsorted(np.cumsum(self.counts), ranks)].tolist()
        return found


def fewest(share: float) -> int:
    """From how many values on a percentile is given."""
    return round(BEYOND / (1 - share))


def counted(histograms: Iterable[Latency]) -> Counted:
    """The sum of some histograms; one that does not fit together is left out."""
    whole = [each for each in histograms if len(each.value_ns) == len(each.count) > 0]
    edges = np.array([*chain.from_iterable(each.value_ns for each in whole)], np.int64)
    counts = np.array([*chain.from_iterable(each.count for each in whole)], np.int64)
    if not (np.diff(edges) > 0).all():  # of several, or damaged
        edges, place = np.unique(edges, return_inverse=True)
        counts = np.bincount(place, weights=counts, minlength=len(edges)).astype(np.int64)
    return Counted(middles_ns(edges) * S_PER_NS, counts)


def summary(histograms: Iterable[Latency], of: str = "latency") -> dict[str, float]:
    """Mean, percentiles and largest of some histograms together, in s, and how many values.

    Keys are names of columns: `latencies`, `latency_mean_s`, `latency_p50_s` and so on;
    percentiles of too few values are left out.
    """
    found = counted(histograms)
    total = found.total
    number = {OPERATIONS if of == "latency" else f"{of}_count": float(total)}
    if total <= 0:
        return number
    number[f"{of}_mean_s"] = float(found.values_s @ found.counts) / total
    shares = {name: share for name, share in SHARES.items() if total >= fewest(share)}
    shares["max"] = 1.0
    quantiles = zip(shares, found.quantiles_s(shares.values()), strict=True)
    return number | {f"{of}_{name}_s": value for name, value in quantiles}


def histograms_of(run: RunLine) -> list[Latency]:
    """The histograms of a run's latencies; empty without any."""
    if run.load is not None:
        return [run.load.latency, run.load.unfinished]
    workers = run.record.workers if run.record is not None else ()
    return [worker.latency for worker in workers if worker.latency is not None]


def _summary(run: RunLine) -> dict[str, float]:
    """The summary of a run: latencies and, if served, those from the send, background, slip."""
    histograms, load = histograms_of(run), run.load
    found = summary(histograms) if histograms else {}
    if load is not None:
        parts = {
            "service": load.service,
            "first_byte": load.first_byte,
            "background": load.background,
            "slip": load.slip,
        }
        for of, each in parts.items():
            found |= summary([each], of)
    return found


def middles_ns(edges: Integers) -> Floats:
    """The middle of each bucket by its lower edge: the HDR layout that `workers` counts in."""
    _, bits = np.frexp(edges.astype(np.float64))
    width = np.ldexp(1.0, np.maximum(bits - EXACT_BITS, 0))
    return np.asarray(edges + (width - 1) / 2, dtype=np.float64)


def of_summary(name: str, otherwise: float = np.nan) -> Read:
    """Read a figure of the summary of the runs' latencies; NaN where there is none."""
    return lambda rows: [found.get(name, otherwise) for found in rows["latency_summary"]]


def in_s(
    name: str, definition: str, heading: str, place: int, noise: Noise = "throughput"
) -> Column:
    """The column of a figure of the summary, in s; tables have it in ms."""
    return Column(
        read=of_summary(name),
        definition=definition,
        better="less",
        noise=noise,
        shown=Shown(f"{heading} ms", f"{name.removesuffix('_s')}_ms", place, 1e3),
    )


def _percentile(name: str, place: int, noise: Noise) -> Column:
    share, column = SHARES[name], f"latency_{name}_s"
    definition = f"{100 * share:g}th percentile, from {fewest(share):,} operations on"
    return in_s(column, definition, f"{PERCENTILES[column]} latency", place, noise)


LATENCY = {
    "latency_summary": Column(
        read=lambda rows: list(map(_summary, rows.runs)),
        dtype=OBJECT,
        definition="all latencies of a run, a dict",
        in_frame=False,
    ),
    OPERATIONS: Column(
        read=of_summary(OPERATIONS, 0),
        dtype=COUNT,
        definition="how many operations were timed, unfinished requests included; 0 but in timed "
        "and served cells",
    ),
    MEAN: in_s(
        MEAN,
        "mean time of an operation, all workers; of a served run that of a request, from its due "
        "time to the last byte of its answer, or so far where it is unfinished: so are all that "
        "follow",
        "mean latency",
        70,
    ),
    "latency_p50_s": _percentile("p50", 90, "latency_p50_s"),
    "latency_p90_s": _percentile("p90", 95, "latency_p90_s"),
    "latency_p95_s": _percentile("p95", 100, "latency_p95_s"),
    "latency_p99_s": _percentile("p99", 75, "latency_p99_s"),
    "latency_p999_s": _percentile("p999", 110, "latency_p99_s"),
}
