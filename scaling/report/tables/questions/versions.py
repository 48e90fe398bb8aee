"""Each version of Python over the oldest, with what their builds differ in besides; and what each
build costs and gains.
"""

from scaling.analysis.comparison.build_differences import build_differences_of
from scaling.analysis.comparison.compare import Compared
from scaling.analysis.comparison.version_lines import (
    MODEL,
    VersionLines,
    VersionPoint,
    version_lines,
)
from scaling.analysis.ratios import Ratio
from scaling.analysis.statistics.estimate import median
from scaling.journal.record import StudyLine
from scaling.report.tables.findings import Finding
from scaling.report.tables.grid import Cell, Grid
from scaling.report.tables.phrases import named, stacked
from scaling.report.tables.questions.contrasts import contrast_headings, contrast_rows
from scaling.report.tables.questions.question import Question
from scaling.study.questions import CPU

MICROSECONDS = 1e6


def _grids(compared: Compared, study: StudyLine) -> list[Grid]:
    versions = compared.ratios.where("version")
    if not versions:
        return []

    def besides(each: Ratio) -> str:
        found = build_differences_of(study, (each.of.arm, each.over.arm))
        return ", ".join(one.fact for one in found)

    rows = contrast_rows(
        versions,
        lambda each: (stacked(each.of), stacked(each.over), besides(each) or "nothing else"),
    )
    note = "Where builds differ in more than the version, the ratio includes that difference."
    note = note if any(map(besides, versions)) else ""
    headings = ["N", "version", "over", "builds differ in", *contrast_headings(versions)]
    changed = Grid("What the versions changed", headings, rows, 4, note)
    lines = version_lines(compared)
    return [_builds(lines), changed] if lines else [changed]


def _builds(lines: VersionLines) -> Grid:
    """A row for each build: throughput, CPU time and collector at N = 1, and what more bring."""
    headings = [
        "build",
        f"N = 1 over {lines.oldest}",
        f"N = {lines.workers} over 1",
        "CPU µs per op",
        "collector µs per op",
        "MiB per extra worker",
    ]
    rows = [[point.arm, *_figures(lines, point)] for point in lines.points]
    return Grid("What each build costs and gains, with threads", headings, rows)


def _figures(lines: VersionLines, point: VersionPoint) -> list[Cell]:
    alone = lines.compared.cell(point.arm, MODEL, 1)
    curve = next(each for each in lines.compared.curves if each.key == alone.but(workers=0))
    cpu_s = lines.compared.of(alone, CPU)
    collector_s = lines.compared.of(alone, "collector_s_per_op")
    return [
        median(point.cost, ""),
        median(point.gain, ""),
        median(MICROSECONDS * cpu_s, "µs"),
        median(MICROSECONDS * collector_s, "µs"),
        curve.slope,
    ]


def _findings(compared: Compared) -> list[Finding]:
    return [
        Finding(f"{named(each.of)} over {each.over.arm}", each)
        for each in compared.ratios.where("version")
        if each.is_headline
    ]


QUESTION = Question("versions", _grids, _findings)
