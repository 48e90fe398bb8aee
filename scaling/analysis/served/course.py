"""One run over time: what its clients saw, how late its loops were, when the collector ran.

A percentile does not say what made a request wait. Of each cell in an open loop the run with the
longest P99 is followed through its window (the longest request decides where P99 is not known).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scaling.analysis.arrays import Flags, Floats, Integers
from scaling.analysis.blocks import Blocks
from scaling.analysis.table.groups import counting_lines
from scaling.analysis.table.latency import S_PER_NS
from scaling.journal.record import Cell, Load, ProcessFacts, Record, RunLine, Spans
from scaling.study.load import open_loop_rate
from scaling.study.questions import P99

FEWEST_COLLECTIONS = 10  # with fewer, how they fall into a window is mostly chance
FULL = 2  # the oldest generation


@dataclass(frozen=True, slots=True)
class Lag:
    """How late the ticks of one worker ran: when they were due, and by how much, in s."""

    at_s: Floats
    lag_s: Floats


@dataclass(frozen=True, slots=True)
class Collections:
    """The collections of one process (of an interpreter, where these are the workers).

    `is_full` marks those that look through the whole heap: of the oldest generation, or any of the
    free-threaded build, which has one generation (3.14 calls it 0). `unlisted` is how many more
    there were: a process lists its first 1,000.
    """

    start_s: Floats
    pause_s: Floats
    is_full: Flags
    unlisted: int = 0


@dataclass(frozen=True, slots=True)
class Course:
    """One run. Times are s since the window opened, latencies s from the due time.

    `median_s` and `longest_s` are those of the answers in each of the equal parts of the window,
    NaN where there were none. `collections` is None where they are not known, as of commands.
    `overload` is the start and end of a part with a higher rate, if there was one.
    """

    block: int
    window_s: float
    p99_s: float
    median_s: Floats
    longest_s: Floats
    lags: list[Lag]
    collections: list[Collections] | None
    overload_s: tuple[float, float] | None = None

    @property
    def collected(self) -> int:
        """How many collections began in the window; 0 where that is not known."""
        return self.unlisted + sum(len(each.start_s) for each in self.collections or ())

    @property
    def unlisted(self) -> int:
        """How many of them have no span."""
        return sum(each.unlisted for each in self.collections or ())


def courses(blocks: Blocks, path: Path) -> dict[Cell, Course]:
    """One for each cell in an open loop; the journal of the runs is at `path`."""
    longest = {
        cell: int(
            rows[np.lexsort((_of(blocks, rows, "latency_max_s"), _of(blocks, rows, P99)))[-1]]
        )
        for cell in blocks.cells
        if open_loop_rate(cell.parameters) is not None
        if len(rows := blocks.rows[:, blocks.place[cell]][blocks.rows[:, blocks.place[cell]] >= 0])
    }
    if not longest:
        return {}
    p99s = {cell: float(blocks.frame[P99].iloc[row]) for cell, row in longest.items()}
    found = {}
    for line in counting_lines(path, blocks.frame.iloc[list(longest.values())]):
        cell = line.cell.but(region=None, pinning=None)
        course = course_of(line, p99s[cell])
        if course is not None:
            found[cell] = course
    return found


def _of(blocks: Blocks, rows: Integers, column: str) -> Floats:
    """A column of these runs, with what is not known first."""
    values: Floats = np.nan_to_num(blocks.frame[column].to_numpy(np.float64)[rows], nan=-np.inf)
    return values


def course_of(run: RunLine, p99_s: float) -> Course | None:
    """A run over time; None where it was not loaded, or the instants of its window are missing."""
    if run.load is None or run.record is None:
        return None
    opened, closed = run.record.instants_ns.opened, run.record.instants_ns.closed
    if opened is None or closed is None:
        return None
    parts = run.load.windows
    return Course(
        block=run.block,
        window_s=(closed - opened) * S_PER_NS,
        p99_s=p99_s,
        median_s=_in_s([each.p50_ns for each in parts]),
        longest_s=_in_s([each.max_ns for each in parts]),
        lags=list(_lags(run.record, opened)),
        collections=_collections(run.record, opened, closed),
        overload_s=_overload(run.load),
    )


def _overload(load: Load) -> tuple[float, float] | None:
    if load.overload is None:
        return None
    return load.overload.after_s, load.overload.after_s + load.overload.lasts_s


def _lags(record: Record, opened: int) -> Iterator[Lag]:
    for worker in record.workers:
        due = np.array(worker.ticks.instant_ns, np.int64)
        late = np.array(worker.ticks.time_ns, np.int64) - due
        yield Lag(_in_s(due - opened), _in_s(np.maximum(late, 0)))


def _collections(record: Record, opened: int, closed: int) -> list[Collections] | None:
    """Of every process that had workers; threads run in the host process."""
    own = [each.process for each in record.workers if each.process is not None]
    every = own or [record.process]
    return [
        _inside(each, each.gc_spans, opened, closed) for each in every if each.gc_spans is not None
    ] or None


def _inside(process: ProcessFacts, spans: Spans, opened: int, closed: int) -> Collections:
    start, pause = np.array(spans.start_ns, np.int64), np.array(spans.pause_ns, np.int64)
    inside = (start >= opened) & (start < closed)
    return Collections(
        _in_s(start[inside] - opened),
        _in_s(pause[inside]),
        np.array(spans.generation, np.int64)[inside] >= (0 if process.free_threaded else FULL),
        unlisted=max(0, (process.gc_collections or 0) - len(start)),
    )


def _in_s(ns: Integers | list[int | None]) -> Floats:
    """None becomes NaN."""
    return np.array(ns, np.float64) * S_PER_NS
