"""Each version of Python over the oldest, with what their builds differ in besides."""

from scaling.analysis.comparison.build_differences import build_differences_of
from scaling.analysis.comparison.compare import Compared
from scaling.journal.record import StudyLine
from scaling.report.tables.findings import Finding
from scaling.report.tables.grid import Cell, Grid
from scaling.report.tables.phrases import named, stacked
from scaling.report.tables.questions.question import Question


def _grids(compared: Compared, study: StudyLine) -> list[Grid]:
    versions = compared.versions
    if not versions:
        return []
    besides = [build_differences_of(study, (each.of.arm, each.over.arm)) for each in versions]
    rows: list[list[Cell]] = [
        [
            str(each.of.workers),
            stacked(each.of),
            stacked(each.over),
            ", ".join(one.fact for one in found) or "nothing else",
            each.throughput,
            each.cpu_s_per_op,
        ]
        for each, found in zip(versions, besides, strict=True)
    ]
    note = "Where builds differ in more than the version, the ratio includes that difference."
    headings = ["N", "version", "over", "builds differ in", "throughput", "CPU per op"]
    return [Grid("What the versions changed", headings, rows, 4, note if any(besides) else "")]


def _findings(compared: Compared) -> list[Finding]:
    found = [each for each in compared.versions if each.of.workers == compared.runs.telling_n]
    return [Finding(f"{named(each.of)} over {each.over.arm}", each.throughput) for each in found]


QUESTION = Question("versions", _grids, _findings)
