"""Columns that a run's processes report of themselves: GIL, allocator, collector, threads."""

import math
from functools import cache
from operator import attrgetter

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.table.column import WORD, Column, Read, SomeRuns
from scaling.analysis.table.stacks import NS_PER_S
from scaling.base.vocabulary import PROCESSES
from scaling.journal.record import GilStates, RunLine

# -------------------------------------------------------------------------------------- process cpu
# CPU time of all threads of a run's processes: of the loops', and of any thread pool.


def process_cpu_s(run: RunLine, *, finite: bool = False) -> float:
    """In s, of all processes of the workers together; NaN where not every worker has read it.

    All workers of one process read the same counter, each at its own two moments. In a window the
    mean of their readings counts; of `finite` work the largest, which covers all of it, but for
    what one worker does in a round that another has finished.
    """
    workers = run.record.workers if run.record is not None else []
    uses = [each.use.process_cpu_ns if each.use else None for each in workers]
    read_ns = [each for each in uses if each is not None]
    if not read_ns or len(read_ns) < len(workers):
        return math.nan
    if run.cell.model in PROCESSES:
        return sum(read_ns) / NS_PER_S
    return (max(read_ns) if finite else sum(read_ns) / len(read_ns)) / NS_PER_S


# ---------------------------------------------------------------------------------------- processes

# Per operation. A buffer that is mapped anew faults at least once per read.
MAPPING_FAULTS = 0.5


def allocator_state(minor_faults_per_op: float) -> str | None:
    """`mapping` or `keeping` (`scaling.analysis.table.marks`); None where faults are not known."""
    if minor_faults_per_op != minor_faults_per_op:
        return None
    return "mapping" if minor_faults_per_op >= MAPPING_FAULTS else "keeping"


def _gil_enabled(rows: SomeRuns) -> list[bool | None]:
    states = np.array([_ever_on(each.gil) for each in rows.every_process])
    return [None if count != count else count > 0 for count in _total(rows, states).tolist()]


@cache
def _ever_on(gil: GilStates) -> float:
    """1 where it was on at any reading, else 0; NaN without one."""
    return float(max(gil.seen, default=np.nan))


def _allocator(rows: SomeRuns) -> list[str | None]:
    return [every[0].allocator if every else None for every in rows.processes]


def _counts(rows: SomeRuns, name: str) -> Floats:
    """A count of each process; NaN where it is None."""
    return np.array(list(map(attrgetter(name), rows.every_process)), np.float64)


def _summed(name: str, unit: float = 1.0) -> Read:
    return lambda rows: _total(rows, _counts(rows, name)) / unit


def _os_threads(rows: SomeRuns) -> Floats:
    # Sub-interpreters are in the process of their host, which counts the same threads.
    one_process = np.array([run.cell.model == "interpreters" for run in rows.runs], np.bool_)
    of_its_run = np.diff(rows.process_rows, prepend=-1) == 0  # but the first one
    threads = _counts(rows, "os_threads")
    return _total(rows, np.where(of_its_run & one_process[rows.process_rows], np.nan, threads))


def _start_s(rows: SomeRuns) -> list[float | None]:
    warmup_s = float(rows.study.study.get("warmup_s") or 0.0)
    return [_started_in_s(run, warmup_s) for run in rows.runs]


def _started_in_s(run: RunLine, warmup_s: float) -> float | None:
    if run.record is None:
        return None
    instants = run.record.instants_ns
    if run.load is not None and instants.started is not None and instants.ready is not None:
        return (instants.ready - instants.started) / NS_PER_S  # its clients connect after that
    # In turn with others, the window opens when all of them are ready.
    started, opened = instants.started, instants.opened
    if run.record.in_slices:
        opened = instants.ready
    if started is None or opened is None:
        return None
    return (opened - started) / NS_PER_S - (0.0 if run.record.finite else warmup_s)


def _total(rows: SomeRuns, values: Floats) -> Floats:
    """The sum over the processes of each run of what is known; NaN if nothing is."""
    known = np.isfinite(values)
    places, runs = rows.process_rows[known], len(rows.runs)
    total = np.bincount(places, values[known], runs)
    return np.where(np.bincount(places, minlength=runs) > 0, total, np.nan)


GIL_AND_ALLOCATOR = {
    "gil_enabled": Column(
        read=_gil_enabled,
        dtype="boolean",
        definition="whether the GIL was on in any process at any of the moments it was read",
    ),
    "allocator": Column(
        read=_allocator,
        dtype=WORD,
        definition="object allocator in use: mimalloc, pymalloc, malloc",
    ),
    "allocator_state": Column(
        read=lambda rows: list(map(allocator_state, rows["minor_faults_per_op"].tolist())),
        dtype=WORD,
        definition="keeping, or mapping: the kernel is asked for memory in every other op or more",
    ),
}

COLLECTOR_AND_THREADS = {
    "gc_collections": Column(
        read=_summed("gc_collections"),
        definition="garbage collections inside the window, all processes",
    ),
    "gc_pause_s": Column(
        read=_summed("gc_pause_ns", NS_PER_S),
        unit="s",
        definition="time spent in them",
        better="less",
    ),
    "os_threads": Column(read=_os_threads, definition="OS threads of the child's processes"),
    "start_s": Column(
        read=_start_s,
        unit="s",
        definition="start of the child to opening of the window, less warm-up; of a served run, "
        "until all workers answer",
        better="less",
    ),
}
