"""Columns that a run's processes tell of themselves: GIL, allocator, garbage collector, threads."""

from collections.abc import Iterable, Sequence
from typing import Any

from scaling.analysis.table.stacks import NS_PER_S
from scaling.analysis.validity import processes
from scaling.journal.record import RunLine

INSIDE = ("gil_enabled", "allocator", "gc_collections", "gc_pause_s", "os_threads", "start_s")


def inside(runs: Sequence[RunLine], warmup_s: float) -> dict[str, list[Any]]:
    """A list per column, None for what no process says. `warmup_s` is no part of the start."""
    rows = [_told(run, warmup_s) for run in runs]
    return dict(zip(INSIDE, map(list, zip(*rows, strict=True)), strict=True))


def _told(run: RunLine, warmup_s: float) -> tuple[Any, ...]:
    every = list(processes(run))
    # Sub-interpreters are in the process of their host, and know of no other threads than it does.
    apart = every[:1] if run.cell.model == "interpreters" else every
    states = [state for process in every for state in process.gil.seen]
    pauses_ns = _total(process.gc_pause_ns for process in every)
    return (
        any(states) if states else None,
        every[0].allocator if every else None,
        _total(process.gc_collections for process in every),
        None if pauses_ns is None else pauses_ns / NS_PER_S,
        _total(process.os_threads for process in apart),
        _start_s(run, warmup_s),
    )


def _start_s(run: RunLine, warmup_s: float) -> float | None:
    if run.record is None:
        return None
    started, opened = run.record.instants_ns.started, run.record.instants_ns.opened
    if started is None or opened is None:
        return None
    return (opened - started) / NS_PER_S - (0.0 if run.record.finite else warmup_s)


def _total(values: Iterable[int | None]) -> int | None:
    """The sum of what is known; None if nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None
