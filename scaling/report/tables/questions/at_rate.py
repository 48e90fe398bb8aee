"""Configurations at one rate of an open loop: latency, CPU time and memory, each over another."""

from scaling.analysis.comparison.rate_ratios import RateRatio
from scaling.analysis.results import StudyResults
from scaling.analysis.served.latency_ratios import LatencyRatio
from scaling.analysis.statistics.estimate import Estimate
from scaling.base import formats
from scaling.report.tables.grid import Cell, Grid
from scaling.report.tables.phrases import ratios_note, stacked
from scaling.report.tables.rated import Rated


def at_rate_grids(each: Rated, results: StudyResults) -> list[Grid]:
    """A table for each loop, at the middle rate."""
    sections = {
        compared.runs.loop: compared.at_rate
        for compared in results.judged
        if compared.runs.section.rate_per_s == each.middle_rate_per_s
        and any(curve in each.section.curves for curve in compared.runs.curves)
    }
    return [_grid(each, loop, ratios) for loop, ratios in sections.items() if ratios]


def _grid(each: Rated, loop: str, ratios: list[RateRatio]) -> Grid:
    rows: list[list[Cell]] = [
        [
            str(ratio.of.workers),
            stacked(ratio.of),
            stacked(ratio.over),
            _p99(each, loop, ratio) or "",
            ratio.cpu_s_per_op,
            ratio.memory,
        ]
        for ratio in ratios
    ]
    rate = formats.number(each.middle_rate_per_s)
    title = f"{each.label} · {loop}, at {rate}/s: each over another"
    note = ratios_note([cell for row in rows for cell in row if isinstance(cell, Estimate)])
    return Grid(title, ["N", "of", "over", "P99", "CPU per op", "memory"], rows, 3, note)


def _p99(each: Rated, loop: str, ratio: RateRatio) -> Cell | None:
    if ratio.latency_p99_s is not None:
        return ratio.latency_p99_s
    found: list[LatencyRatio] = [
        one
        for one in each.ratios
        if (one.rate_per_s, one.subject.loop) == (each.middle_rate_per_s, loop)
        and (one.of, one.over) == (ratio.of, ratio.over)
    ]
    return found[0].ratio if found else None
