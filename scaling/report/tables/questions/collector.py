"""Each arm without the garbage collector over the same arm with it."""

from scaling.analysis.comparison.compare import Compared
from scaling.journal.record import StudyLine
from scaling.report.tables.grid import Grid
from scaling.report.tables.phrases import stacked
from scaling.report.tables.questions.contrasts import RATIOS, contrast_rows
from scaling.report.tables.questions.question import Question


def _grids(compared: Compared, study: StudyLine) -> list[Grid]:
    del study
    rows = contrast_rows(compared.collectors, lambda each: (stacked(each.of), stacked(each.over)))
    headings = ["N", "without", "over", *RATIOS]
    return [Grid("What the garbage collector costs", headings, rows, 3)] if rows else []


QUESTION = Question("collector", _grids)
