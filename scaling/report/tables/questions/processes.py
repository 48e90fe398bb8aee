"""Threads and interpreters over as many processes: work, CPU time, memory.

Memory is compared with fresh processes and with forked ones, where a study has both.
"""

from collections.abc import Iterator

from scaling.analysis.comparison.baseline import BaselineRatio
from scaling.analysis.comparison.compare import Compared
from scaling.base import formats
from scaling.base.vocabulary import PROCESSES
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
    memories = [{one.over.theirs.model: one.ratio for one in each.memory} for each in found]
    models = [model for model in PROCESSES if any(model in each for each in memories)]
    rows: list[list[Cell]] = [
        [
            str(each.workers),
            stacked(each.ours),
            stacked(each.theirs),
            each.throughput,
            each.cpu_s_per_op,
            *(memory.get(model, formats.BLANK) for model in models),
        ]
        for each, memory in zip(found, memories, strict=True)
    ]
    kinds = {f"{one.over.kind} over {one.over.kind}" for each in found for one in each.memory}
    note = f"Memory is {' or '.join(sorted(kinds))}. Of several arms, the baseline is the fastest."
    of_memory = [f"memory over {model}" for model in models] if len(models) > 1 else ["memory"]
    headings = ["N", "ours", "over", "throughput", "CPU per op", *of_memory]
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
    has_both = len(each.memory) > 1
    others = [stacked(one).replace("\n", " ") if has_both else one.arm for one in each.among]
    better = f" (the better of {formats.listed(others)})" if len(others) > 1 else ""
    over = f"{named(each.theirs)}{better}"
    yield Finding(f"{named(each.ours)} over {over}", each.throughput, chosen)
    yield Finding("… CPU time per operation", each.cpu_s_per_op)
    for (theirs, kind), ratio in each.memory:
        yield Finding(f"… memory ({kind}){f' over {named(theirs)}' if has_both else ''}", ratio)


QUESTION = Question("processes", _grids, _findings)
