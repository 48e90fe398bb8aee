"""Rows and findings of one configuration over another, which several questions show."""

from collections.abc import Callable, Iterable

from scaling.analysis.ratios import Ratio, Ratios
from scaling.report.tables.findings import Finding
from scaling.report.tables.grid import Cell
from scaling.study.questions import CPU, THROUGHPUT

RATIOS = ["throughput", "CPU per op"]  # the headings of the last columns


def contrast_rows(found: Ratios, words: Callable[[Ratio], Iterable[str]]) -> list[list[Cell]]:
    """A row for each ratio of throughput: N, its `words`, the ratio and that of CPU time."""
    return [
        [str(each.of.workers), *words(each), each, _cpu(found, each)]
        for each in found.where(measure=THROUGHPUT)
    ]


def contrast_findings(question: str, found: Ratios, ratio: Ratio) -> list[Finding]:
    """The throughput answers the question; CPU time follows it."""
    cpu = found.same(ratio, CPU)
    follows = [Finding("… CPU time per operation", cpu)] if cpu else []
    return [Finding(question, ratio), *follows]


def _cpu(found: Ratios, ratio: Ratio) -> Cell:
    cpu = found.same(ratio, CPU)
    return cpu or ""


def at_headline_n(found: list[Ratio], n: int) -> list[Ratio]:
    """Those at the largest N up to `n`, or else at the smallest."""
    ns = [each.of.workers for each in found]
    at = max((each for each in ns if each <= n), default=min(ns))
    return [each for each in found if each.of.workers == at]
