"""Validity of runs: a table of small checks, each with its word and its limit.

A check sees many runs at once, with what their arms promised and their figures as columns, and
yields findings. Invalid runs are kept and listed with their reasons, and enter no average; suspect
ones are used and marked. Limits follow from one margin: two arms that differ by less than 2 % are
called the same, so whatever is known to change a figure by more must be reported.

What shows only between runs of one cell is found by `scaling.analysis.table.marks`.
"""

import math
from typing import Literal

from scaling.analysis.rows import Rows
from scaling.analysis.validity.course import COURSE_CHECKS
from scaling.analysis.validity.finding import Check, Finding, Severity, python_of
from scaling.analysis.validity.promises import gil_flipped, settings_lost
from scaling.analysis.validity.served import SERVED_CHECKS
from scaling.base.formats import number
from scaling.builds.interpreters.find import ISSUE, SOUND_SINCE, may_crash
from scaling.journal.record import PythonFacts, RunLine

ALWAYS: tuple[Check, ...] = (gil_flipped, settings_lost, *COURSE_CHECKS)
CHECKS: tuple[Check, ...] = (*ALWAYS, *SERVED_CHECKS)

FROM_OUTSIDE = (2, 9, 15)  # SIGINT, SIGKILL (for want of memory, say), SIGTERM: no crash


def judge(rows: Rows) -> list[tuple[Finding, ...]]:
    """The findings of each run, invalid ones first; none for a run without fault.

    A run that was not measured has one finding, its outcome.
    """
    found: dict[int, list[Finding]] = {}
    loaded = any(run.load is not None for run in rows.runs)
    for check in CHECKS if loaded else ALWAYS:
        for row, finding in check(rows):
            found.setdefault(row, []).append(finding)
    judged: list[tuple[Finding, ...]] = [()] * len(rows.runs)
    for row, findings in found.items():
        judged[row] = tuple(sorted(findings, key=lambda each: each.severity))  # invalid comes first
    for row in (~rows.measured).nonzero()[0].tolist():
        judged[row] = (_unmeasured(rows.runs[row], python_of(rows.arm(row))),)
    return judged


def validity(findings: tuple[Finding, ...]) -> Severity | Literal["valid"]:
    """The worst of the findings, which `judge` puts first."""
    return findings[0].severity if findings else "valid"


def _unmeasured(run: RunLine, python: PythonFacts | None) -> Finding:
    record = run.record
    if run.outcome == "measured" and record is not None and record.outcome == "measured":
        return Finding("garbled", "invalid", "its ticks are missing or do not fit together")
    word = run.outcome if run.outcome != "measured" else "failed"
    failure = record.failure if record else None
    if failure is not None:
        return Finding(word, "invalid", f"{failure.phase}: {failure.error}")
    if run.outcome == "timed-out":
        took = f"not finished after {number(run.elapsed_s or math.nan)} s"
        return Finding(word, "invalid", f"{took} (a finite run has a limit: --limit or limit_s)")
    code = [] if run.exit_code is None else [f"exit code {run.exit_code}"]  # it did not begin
    ended = [f"signal {run.signal}"] if run.signal else code
    last = run.stderr.strip().splitlines()[-1:] or ["nothing on standard error"]
    return Finding(word, "invalid", "; ".join(ended + last) + _known_crash(run, python))


def _known_crash(run: RunLine, python: PythonFacts | None) -> str:
    """A known crash of that build; empty for any other build, and for any other end."""
    if not run.signal or run.signal in FROM_OUTSIDE or python is None:
        return ""
    if not may_crash(python.version, free_threaded=python.free_threaded):
        return ""
    return f" (free-threaded builds before {SOUND_SINCE} may crash with several loops: {ISSUE})"
