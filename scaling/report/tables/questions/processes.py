"""Threads and interpreters over as many processes: work, CPU time, memory.

Each figure is over the processes that are best at it. Memory is compared with fresh processes and
with forked ones, where a study has both.
"""

from collections.abc import Iterator

import numpy as np

from scaling.analysis.comparison.compare import Compared, OverProcesses
from scaling.base import formats
from scaling.journal.record import Cell as CellOfStudy
from scaling.journal.record import StudyLine
from scaling.report.tables.findings import Finding
from scaling.report.tables.grid import Cell, Grid
from scaling.report.tables.phrases import named, stacked
from scaling.report.tables.questions.question import Question
from scaling.study.questions import THREADS, THROUGHPUT

HEADINGS = ("throughput", "CPU per op", "memory")


def _grids(compared: Compared, study: StudyLine) -> list[Grid]:
    del study
    found = compared.over_processes
    if not found:
        return []
    rows: list[list[Cell]] = [
        [str(each.of.workers), stacked(each.of), stacked(over), *(row.get(n, "") for n in HEADINGS)]
        for each in found
        for over, row in _by_baseline(each).items()
    ]
    has_both = any(len(each.memory) > 1 for each in found)
    note = (
        f"Memory is {compared.memory_kind}. Each ratio is over the processes that are best at it: "
        "the fastest, those that need the least CPU time, those that need the least memory"
        f"{' (fresh and forked ones apart)' if has_both else ''}."
    )
    headings = ["N", "ours", "over", *HEADINGS]
    return [Grid("Over as many processes", headings, rows, words=3, note=note)]


def _by_baseline(each: OverProcesses) -> dict[CellOfStudy, dict[str, Cell]]:
    """The ratios by what they are over, and by their headings."""
    rows: dict[CellOfStudy, dict[str, Cell]] = {}
    ratios = zip(HEADINGS, (each.throughput, each.cpu), strict=False)
    for heading, ratio in [*ratios, *((HEADINGS[-1], one) for one in each.memory)]:
        if ratio is not None:
            rows.setdefault(ratio.over, {})[heading] = ratio
    return rows


def _findings(compared: Compared) -> list[Finding]:
    """Of threads each arm; of other models the fastest arm, chosen by throughput, not by ratio."""
    at_n = [each for each in compared.over_processes if each.of.workers == compared.headline_n]
    threads = [each for each in at_n if each.of.model == THREADS]
    others = [each for each in at_n if each.of.model != THREADS]

    def speed(each: OverProcesses) -> float:
        return float(np.nanmedian(compared.of(each.of, THROUGHPUT)))

    chosen = [*threads, *([max(others, key=speed)] if others else [])]
    return [finding for each in chosen for finding in _of_one(each, _chosen(each, others))]


def _chosen(each: OverProcesses, others: list[OverProcesses]) -> str:
    """Why this arm of several is in the answer."""
    arms = list(dict.fromkeys(other.of.arm for other in others))
    if each not in others or len(arms) < 2:
        return ""
    return f"Of {each.of.model} on {formats.listed(arms)}, {each.of.arm} is the fastest."


def _of_one(each: OverProcesses, chosen: str) -> Iterator[Finding]:
    has_both = len(each.memory) > 1
    among = each.throughput.among
    others = [stacked(one).replace("\n", " ") if has_both else one.arm for one in among]
    better = f" (the better of {formats.listed(others)})" if len(others) > 1 else ""
    over = f"{named(each.throughput.over)}{better}"
    yield Finding(f"{named(each.of)} over {over}", each.throughput, chosen)
    costs = [("CPU time per operation", each.cpu)]
    costs += [(f"memory ({one.memory_kind})", one) for one in each.memory]
    for what, ratio in costs:
        if ratio is not None:
            theirs = f" over {named(ratio.over)}" if len(others) > 1 else ""
            yield Finding(f"… {what}{theirs}", ratio)


QUESTION = Question("processes", _grids, _findings)
