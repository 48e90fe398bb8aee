"""Journal to table: one row per run, everything derived from what was written down.

`load` is what a notebook wants, `read_journal` what the commands use: the same table with the
study it belongs to. Runs are read and worked out a few hundred at a time, so that their ticks,
which are nearly all of a journal, never are in memory together.
"""

import os
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

from scaling.errors import UsageError
from scaling.frame.columns import COLUMNS, columns_markdown
from scaling.frame.mixing import allocator_state, mixed_states
from scaling.frame.ticks import NS_PER_S, measure
from scaling.frame.validity import (
    Expectation,
    Figures,
    expectation,
    judge,
    processes,
    validity,
    watched_cpus,
)
from scaling.journal.reading import find_journal, read_lines
from scaling.journal.record import CeilingLine, Line, RunLine, StudyLine

__all__ = ["COLUMNS", "Journal", "JournalWarning", "columns_markdown", "load", "read_journal"]

type Source = str | os.PathLike[str]

AT_ONCE = 512  # runs worked out together: enough for numpy to pay, a few MiB of ticks

_parameters = msgspec.json.Encoder(order="sorted")


class JournalWarning(UserWarning):
    """A line of a journal was skipped."""


@dataclass(frozen=True, slots=True)
class Journal:
    """A journal, read: its study, its runs, what its services can do, what was skipped."""

    path: Path
    study: StudyLine
    frame: pd.DataFrame
    ceilings: list[CeilingLine]
    notes: list[str]


def load(path: Source | Iterable[Source]) -> pd.DataFrame:
    """Runs of one journal or several: one row a run, columns as in `scaling.frame.columns.COLUMNS`.

    `path` is the folder of a study, a journal file (`.jsonl` or `.jsonl.gz`), or a list of those.
    Studies of the same name are told apart by a number in the column `study`. Lines that cannot be
    read are skipped with a `JournalWarning`; a torn last line is passed over in silence.

    Raises:
        UsageError: no journal there, none in it, no run in it, or a newer one than we can read.
    """
    paths = [path] if isinstance(path, str | os.PathLike) else list(path)
    if not paths:
        raise UsageError("no journal was named; give the folder of a study")
    journals = [read_journal(each) for each in paths]
    for journal in journals:
        for note in journal.notes:
            warnings.warn(note, JournalWarning, stacklevel=2)
    if len(journals) == 1:
        return journals[0].frame
    names = _told_apart([journal.study.name for journal in journals])
    frames = [
        journal.frame.assign(study=name) for journal, name in zip(journals, names, strict=True)
    ]
    return _typed(pd.concat(frames, ignore_index=True))


def read_journal(path: Source) -> Journal:
    """One journal with its study. Raises `UsageError` as `load` does, and warns of nothing."""
    file = find_journal(Path(path))
    notes: list[str] = []
    lines = read_lines(file, notes.append)
    study = next(lines)
    assert isinstance(study, StudyLine)
    ceilings: list[CeilingLine] = []
    rows: list[tuple[Any, ...]] = []
    runs = _runs(lines, ceilings)
    judges = _expectations(study)
    while batch := list(islice(runs, AT_ONCE)):
        rows += _rows(batch, study, judges)
    if not rows:
        raise UsageError(f"{file}: holds no run yet; `scaling run --output {file.parent}` goes on")
    return Journal(file, study, _table(rows), ceilings, notes)


def _runs(lines: Iterator[Line], ceilings: list[CeilingLine]) -> Iterator[RunLine]:
    """The runs among the lines; ceilings are put aside on the way."""
    for line in lines:
        if isinstance(line, RunLine):
            yield line
        elif isinstance(line, CeilingLine):
            ceilings.append(line)


def _expectations(study: StudyLine) -> dict[str, Expectation]:
    cpus = watched_cpus(study.machine)
    return {name: expectation(arm, cpus) for name, arm in study.arms.items()}


def _rows(
    runs: list[RunLine], study: StudyLine, judges: dict[str, Expectation]
) -> Iterator[tuple[Any, ...]]:
    """One tuple per run, in the order of `COLUMNS`."""
    measured = {
        name: column.tolist() for name, column in measure([run.record for run in runs]).items()
    }
    warmup_s = float(study.study.get("warmup_s") or 0.0)
    for place, run in enumerate(runs):
        figures = {name: column[place] for name, column in measured.items()}
        judged = Figures(*(figures[name] for name in Figures.__match_args__))
        findings = judge(run, judges.get(run.cell.arm, Expectation()), judged)
        verdict = validity(findings)
        row = figures | {
            "study": study.name,
            "machine": study.machine.id,
            **_asked(run),
            "valid": verdict != "invalid",
            "validity": verdict,
            "reasons": tuple(finding.word for finding in findings),
            "details": tuple(finding.detail for finding in findings),
            "allocator_state": allocator_state(figures["minor_faults_per_op"]),
            **_told_from_inside(run, warmup_s),
            **_seen_from_outside(run),
        }
        yield tuple(row[name] for name in COLUMNS)


def _asked(run: RunLine) -> dict[str, Any]:
    cell = run.cell
    return {
        "workload": cell.workload,
        "parameters": _parameters.encode(cell.parameters).decode(),
        "loop": cell.loop,
        "arm": cell.arm,
        "model": cell.model,
        "workers": cell.workers,
        "sizing": cell.sizing,
        "region": cell.region,
        "block": run.block,
        "position": run.position,
        "attempt": run.attempt,
        "outcome": run.outcome,
    }


def _told_from_inside(run: RunLine, warmup_s: float) -> dict[str, Any]:
    every = list(processes(run))
    # Sub-interpreters are in the process of their host, and know of no other threads than it does.
    apart = every[:1] if run.cell.model == "interpreters" else every
    states = [state for process in every for state in process.gil.seen]
    pauses_ns = _total(process.gc_pause_ns for process in every)
    start_s = None
    if run.record is not None:
        instants = run.record.instants_ns
        if instants.started is not None and instants.opened is not None:
            start_s = (instants.opened - instants.started) / NS_PER_S - warmup_s
    return {
        "gil_enabled": any(states) if states else None,
        "allocator": every[0].allocator if every else None,
        "gc_collections": _total(process.gc_collections for process in every),
        "gc_pause_s": None if pauses_ns is None else pauses_ns / NS_PER_S,
        "os_threads": _total(process.os_threads for process in apart),
        "start_s": start_s,
    }


def _seen_from_outside(run: RunLine) -> dict[str, Any]:
    memory, disturbance = run.memory, run.disturbance
    busy = [use.busy_fraction for use in run.services.values() if use.busy_fraction is not None]
    return {
        "baseline_rss_bytes": memory.baseline_rss_bytes,
        "rss_bytes": memory.rss_bytes,
        "pss_bytes": memory.pss_bytes,
        "uss_bytes": memory.uss_bytes,
        "peak_bytes": memory.peak_bytes,
        "elapsed_s": run.elapsed_s,
        "steal_fraction": disturbance.steal_fraction,
        "other_cpu_fraction": disturbance.other_cpu_fraction,
        "throttled_s": disturbance.throttled_s,
        "site_busy_fraction": max(busy, default=None),
        "at": run.at,
    }


def _total(values: Iterable[int | None]) -> int | None:
    """The sum of what is known; None if nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _table(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    columns = zip(*rows, strict=True)
    frame = pd.DataFrame(dict(zip(COLUMNS, columns, strict=True)))
    reasons, details = frame["reasons"].tolist(), frame["details"].tolist()
    for row, finding in mixed_states(frame).items():
        frame.at[row, "valid"] = False
        frame.at[row, "validity"] = finding.severity
        reasons[row] = (finding.word, *reasons[row])
        details[row] = (finding.detail, *details[row])
    return _typed(frame.assign(reasons=reasons, details=details))


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    """Every column in the dtype that `COLUMNS` states."""
    frame["at"] = pd.to_datetime(frame["at"], utc=True, errors="coerce", format="ISO8601")
    frame["validity"] = pd.Categorical(frame["validity"], ["valid", "suspect", "invalid"])
    return frame.astype({name: column.dtype for name, column in COLUMNS.items()})


def _told_apart(names: list[str]) -> list[str]:
    """Each name once: those that come again get a number."""
    seen: dict[str, int] = {}
    apart = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        apart.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return apart
