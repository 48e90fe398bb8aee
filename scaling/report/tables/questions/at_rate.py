"""Configurations at one rate of an open loop: latency, CPU time and memory, each over another.

Each figure of threads is over the processes that are best at it, so these may have several rows.
"""

from scaling.analysis.ratios import Ratios
from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.estimate import Estimate
from scaling.base import formats
from scaling.report.tables.grid import Grid
from scaling.report.tables.phrases import ratios_note, stacked
from scaling.report.tables.questions.contrasts import contrast_headings, contrast_rows
from scaling.report.tables.rated import Rated
from scaling.study.questions import CPU, MEMORY, P99

FIRST = (P99, CPU, MEMORY)


def at_rate_grids(each: Rated, results: StudyResults) -> list[Grid]:
    """A table for each loop, at the middle rate."""
    sections = {
        compared.loop: compared.ratios
        for compared in results.judged
        if compared.section.rate_per_s == each.middle_rate_per_s
        and any(curve in each.section.curves for curve in compared.curves)
    }
    return [_grid(each, loop, ratios) for loop, ratios in sections.items() if ratios]


def _grid(each: Rated, loop: str, ratios: Ratios) -> Grid:
    rows = contrast_rows(ratios, lambda each: (stacked(each.of), stacked(each.over)), FIRST)
    rate = formats.number(each.middle_rate_per_s)
    title = f"{each.label} · {loop}, at {rate}/s: each over another"
    note = ratios_note([cell for row in rows for cell in row if isinstance(cell, Estimate)])
    headings = ["N", "of", "over", *contrast_headings(ratios, FIRST)]
    return Grid(title, headings, rows, 3, note)
