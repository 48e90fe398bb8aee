"""Columns that a run's processes report of themselves: GIL, allocator, collector, threads."""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from scaling.analysis.table.column import WORD, Column, Read
from scaling.analysis.table.stacks import NS_PER_S
from scaling.journal.record import GilStates, ProcessFacts, RunLine

if TYPE_CHECKING:
    from scaling.analysis.table.rows import Rows

# Per operation. A buffer that is mapped anew faults at least once per read.
MAPPING_FAULTS = 0.5


def allocator_state(minor_faults_per_op: float) -> str | None:
    """`mapping` or `keeping` (`scaling.analysis.table.mixing`); None where faults are not known."""
    if minor_faults_per_op != minor_faults_per_op:
        return None
    return "mapping" if minor_faults_per_op >= MAPPING_FAULTS else "keeping"


def _gil_enabled(rows: "Rows") -> list[bool | None]:
    states = ({_ever_on(each.gil) for each in every} for every in rows.processes)
    return [True if True in each else False if False in each else None for each in states]


@cache
def _ever_on(gil: GilStates) -> bool | None:
    """Whether it was on at any reading; None without one."""
    return max(gil.seen, default=None)


def _allocator(rows: "Rows") -> list[str | None]:
    return [every[0].allocator if every else None for every in rows.processes]


def _summed(count: Callable[[ProcessFacts], int | None]) -> Read:
    return lambda rows: [_total([count(each) for each in every]) for every in rows.processes]


def _gc_pause_s(rows: "Rows") -> list[float | None]:
    pauses_ns = (_total([each.gc_pause_ns for each in every]) for every in rows.processes)
    return [None if pause_ns is None else pause_ns / NS_PER_S for pause_ns in pauses_ns]


def _os_threads(rows: "Rows") -> list[int | None]:
    # Sub-interpreters are in the process of their host, which counts the same threads.
    one_process = (run.cell.model == "interpreters" for run in rows.runs)
    counted = (
        every[:1] if only_first else every
        for every, only_first in zip(rows.processes, one_process, strict=True)
    )
    return [_total([each.os_threads for each in every]) for every in counted]


def _start_s(rows: "Rows") -> list[float | None]:
    warmup_s = float(rows.study.study.get("warmup_s") or 0.0)
    return [_started_in_s(run, warmup_s) for run in rows.runs]


def _started_in_s(run: RunLine, warmup_s: float) -> float | None:
    if run.record is None:
        return None
    instants = run.record.instants_ns
    if run.load is not None and instants.started is not None and instants.ready is not None:
        return (instants.ready - instants.started) / NS_PER_S  # its clients connect after that
    started, opened = instants.started, instants.opened
    if started is None or opened is None:
        return None
    return (opened - started) / NS_PER_S - (0.0 if run.record.finite else warmup_s)


def _total(values: list[int | None]) -> int | None:
    """The sum of what is known; None if nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


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
        read=_summed(lambda process: process.gc_collections),
        definition="garbage collections inside the window, all processes",
    ),
    "gc_pause_s": Column(
        read=_gc_pause_s, unit="s", definition="time spent in them", better="less"
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
