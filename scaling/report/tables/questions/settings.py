"""Each arm with a setting beside the ladder over the same arm without it."""

from scaling.analysis.comparison.compare import Compared
from scaling.journal.record import StudyLine
from scaling.report.tables.findings import Finding
from scaling.report.tables.grid import Grid
from scaling.report.tables.phrases import named, stacked
from scaling.report.tables.questions.contrasts import contrast_headings, contrast_rows
from scaling.report.tables.questions.question import Question


def _grids(compared: Compared, study: StudyLine) -> list[Grid]:
    del study
    found = compared.ratios.where("setting")
    rows = contrast_rows(found, lambda each: (stacked(each.of), stacked(each.over)))
    headings = ["N", "with", "over", *contrast_headings(found)]
    return [Grid("What a setting changes", headings, rows, 3)] if rows else []


def _findings(compared: Compared) -> list[Finding]:
    return [
        Finding(f"{named(each.of)} over {each.over.arm}", each)
        for each in compared.ratios.where("setting")
        if each.is_headline
    ]


QUESTION = Question("settings", _grids, _findings)
