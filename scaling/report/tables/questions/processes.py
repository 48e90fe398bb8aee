"""Threads and interpreters over as many processes with the GIL: work, CPU time, memory."""

from collections.abc import Iterator

from scaling.analysis.comparison.baseline import BaselineRatio
from scaling.analysis.comparison.compare import Compared
from scaling.base import formats
from scaling.journal.record import StudyLine
from scaling.report.tables.findings import Finding
from scaling.report.tables.grid import Cell, Grid
from scaling.report.tables.phrases import named, stacked
from scaling.report.tables.questions.question import Question


def _grids(compared: Compared, study: StudyLine) -> list[Grid]:
    del study
    found = compared.baseline_ratios
    if not found:
        return []
    rows: list[list[Cell]] = [
        [
            str(each.workers),
            stacked(each.ours),
            stacked(each.theirs),
            each.throughput,
            each.cpu_s_per_op,
            each.memory,
        ]
        for each in found
    ]
    kinds = {f"{each.memory_kind} over {each.memory_kind}" for each in found}
    note = f"Memory is {' or '.join(sorted(kinds))}. Of several arms, the baseline is the fastest."
    headings = ["N", "ours", "over", "throughput", "CPU per op", "memory"]
    return [Grid("Over as many processes", headings, rows, words=3, note=note)]


def _findings(compared: Compared) -> list[Finding]:
    """Of threads each arm; of other models the fastest arm, chosen by throughput, not by ratio."""
    n = compared.runs.headline_n
    at_n = [each for each in compared.baseline_ratios if each.workers == n]
    threads = [each for each in at_n if each.ours.model == "threads"]
    others = [each for each in at_n if each.ours.model != "threads"]

    def speed(each: BaselineRatio) -> float:
        return compared.runs.estimate(each.ours, "throughput", "").point

    chosen = [*threads, *([max(others, key=speed)] if others else [])]
    return [finding for each in chosen for finding in _of_one(each, _chosen(each, others))]


def _chosen(each: BaselineRatio, others: list[BaselineRatio]) -> str:
    """Why this arm of several is in the answer."""
    arms = list(dict.fromkeys(other.ours.arm for other in others))
    if each not in others or len(arms) < 2:
        return ""
    return f"Of {each.ours.model} on {formats.listed(arms)}, {each.ours.arm} is the fastest."


def _of_one(each: BaselineRatio, chosen: str) -> Iterator[Finding]:
    better = f" (the better of {' and '.join(one.arm for one in each.among)})"
    over = f"{named(each.theirs)}{better if len(each.among) > 1 else ''}"
    yield Finding(f"{named(each.ours)} over {over}", each.throughput, chosen)
    yield Finding("… CPU time per operation", each.cpu_s_per_op)
    yield Finding(f"… memory ({each.memory_kind})", each.memory)


QUESTION = Question("processes", _grids, _findings)
