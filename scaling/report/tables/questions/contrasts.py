"""Rows and findings of one configuration over another, which several questions show."""

from collections.abc import Callable, Iterable

from scaling.analysis.comparison.contrast import Contrast
from scaling.report.tables.findings import Finding
from scaling.report.tables.grid import Cell

RATIOS = ["throughput", "CPU per op"]  # the headings of the last columns


def contrast_rows(
    found: Iterable[Contrast], words: Callable[[Contrast], Iterable[str]]
) -> list[list[Cell]]:
    """A row for each: N, its `words`, its ratios."""
    return [
        [str(each.of.workers), *words(each), each.throughput, each.cpu_s_per_op] for each in found
    ]


def contrast_findings(question: str, ratios: Contrast) -> list[Finding]:
    """The throughput answers the question; CPU time follows it."""
    return [
        Finding(question, ratios.throughput),
        Finding("… CPU time per operation", ratios.cpu_s_per_op),
    ]


def at_headline_n(found: list[Contrast], n: int) -> list[Contrast]:
    """Those at the largest N up to `n`, or else at the smallest."""
    ns = [each.of.workers for each in found]
    at = max((each for each in ns if each <= n), default=min(ns))
    return [each for each in found if each.of.workers == at]
