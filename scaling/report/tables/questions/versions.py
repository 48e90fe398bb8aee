"""Each version of Python over the oldest, with what their builds differ in besides."""

from scaling.analysis.comparison.build_differences import build_differences_of
from scaling.analysis.comparison.compare import Compared
from scaling.analysis.comparison.contrast import Contrast
from scaling.journal.record import StudyLine
from scaling.report.tables.findings import Finding
from scaling.report.tables.grid import Grid
from scaling.report.tables.phrases import named, stacked
from scaling.report.tables.questions.contrasts import RATIOS, contrast_rows
from scaling.report.tables.questions.question import Question


def _grids(compared: Compared, study: StudyLine) -> list[Grid]:
    versions = compared.versions
    if not versions:
        return []

    def besides(each: Contrast) -> str:
        found = build_differences_of(study, (each.of.arm, each.over.arm))
        return ", ".join(one.fact for one in found)

    rows = contrast_rows(
        versions,
        lambda each: (stacked(each.of), stacked(each.over), besides(each) or "nothing else"),
    )
    note = "Where builds differ in more than the version, the ratio includes that difference."
    note = note if any(map(besides, versions)) else ""
    headings = ["N", "version", "over", "builds differ in", *RATIOS]
    return [Grid("What the versions changed", headings, rows, 4, note)]


def _findings(compared: Compared) -> list[Finding]:
    found = [each for each in compared.versions if each.of.workers == compared.runs.headline_n]
    return [Finding(f"{named(each.of)} over {each.over.arm}", each.throughput) for each in found]


QUESTION = Question("versions", _grids, _findings)
