"""Latencies as HdrHistogram writes them: for its plotter, and whatever else reads such files.

The format is that of `outputPercentileDistribution` (HdrHistogram 2, AbstractHistogram.java) with
five ticks per half distance, values in milliseconds: the largest value of a bucket, the share of
the requests that are at most that, how many these are, and 1 / (1 - share). A ZIP archive has a
file for each cell, the requests of all of its runs that count added up. Requests without an answer
are among them with their latency so far; a further line then says how many.
"""

import zipfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from scaling.analysis.lookup.tables import TimedRun, timed_runs
from scaling.analysis.table.groups import labels, slug
from scaling.analysis.table.latency import EXACT_BITS, Counted, counted
from scaling.analysis.table.load import Journal
from scaling.base.errors import UsageError
from scaling.journal.record import Cell

TICKS = 5  # lines for each half of what is left above a percentile
DIGITS = 3  # behind the point
MS_PER_S = 1e3
BUCKETS = 44 - EXACT_BITS + 1  # `workers` counts values of up to 44 bits, in ns
BEGINNING = (1980, 1, 1, 0, 0, 0)  # the archive does not change with the time of day


def write_percentiles(journal: Journal, file: Path) -> None:
    """Write the archive.

    Raises:
        UsageError: no operation of a valid run was timed.
        OSError: as any writing does.
    """
    by_cell: dict[str, list[TimedRun]] = defaultdict(list)
    names = labels(journal.frame)
    for run in timed_runs(journal, journal.frame):
        by_cell[_file_name(names[run.cell.workload, run.cell.parameters], run.cell)].append(run)
    if not by_cell:
        raise UsageError(f"{journal.path}: no operation of a valid run was timed")
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, runs in by_cell.items():
            archive.writestr(zipfile.ZipInfo(name, BEGINNING), distribution(runs))


def distribution(runs: Sequence[TimedRun]) -> str:
    """The text of one file."""
    every = counted(histogram for run in runs for histogram in run.histograms)
    unfinished = counted(run.unfinished for run in runs).total
    lines = [f"{'Value':>12} {'Percentile':>14} {'TotalCount':>10} {'1/(1-Percentile)':>14}", ""]
    lines += [_line(*each) for each in _levels(every)]
    values_ms, total = every.values_s * MS_PER_S, every.total
    mean = float(values_ms @ every.counts) / total
    deviation = float(np.sqrt(np.square(values_ms - mean) @ every.counts / total))
    lines += [
        f"#[Mean    = {mean:12.{DIGITS}f}, StdDeviation   = {deviation:12.{DIGITS}f}]",
        f"#[Max     = {_largest_ms(every)[-1]:12.{DIGITS}f}, Total count    = {total:12d}]",
        f"#[Buckets = {BUCKETS:12d}, SubBuckets     = {1 << EXACT_BITS:12d}]",
    ]
    if unfinished:
        lines.append(f"#[Unfinished = {unfinished}: with the latency so far]")
    return "\n".join(lines) + "\n"


def _levels(every: Counted) -> Iterator[tuple[float, float, int]]:
    """Value in ms, share and count of each line.

    Each half of what is left above a level has as many ticks, so the lines become denser towards 1;
    a value has a line for each tick that its requests reach, the last one only one before 1.
    """
    largest_ms, total = _largest_ms(every), every.total
    level = 0.0  # in per cent, as there
    for value, reached in zip(largest_ms, np.cumsum(every.counts).tolist(), strict=True):
        while level <= 100 * reached / total:
            yield float(value), level / 100, reached
            halvings = int(np.log2(100 / (100 - level))) + 1
            level += 100 / (TICKS * 2**halvings)
            if reached == total:
                break
    yield float(largest_ms[-1]), 1.0, total


def _line(value_ms: float, share: float, reached: int) -> str:
    line = f"{value_ms:12.{DIGITS}f} {share:2.12f} {reached:10d}"
    return line if share == 1 else f"{line} {1 / (1 - share):14.2f}"


def _largest_ms(every: Counted) -> "np.typing.NDArray[np.float64]":
    """The largest value of each bucket; `values_s` are the middles."""
    middle_ns = every.values_s * 1e9
    _, bits = np.frexp(middle_ns)
    half_ns = (np.ldexp(1.0, np.maximum(bits - EXACT_BITS, 0)) - 1) / 2
    return np.asarray((middle_ns + half_ns) * MS_PER_S / 1e9)


def _file_name(label: str, cell: Cell) -> str:
    words = [label, cell.sizing, cell.loop, cell.arm, cell.model, f"N{cell.workers}"]
    return f"{slug(' · '.join(words))}.hgrm"
