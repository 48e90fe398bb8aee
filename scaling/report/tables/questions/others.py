"""Questions without a module of their own: a table for each, so that a new one is shown at once."""

from scaling.analysis.comparison.compare import Compared
from scaling.journal.record import StudyLine
from scaling.report.tables.grid import Grid
from scaling.report.tables.phrases import stacked
from scaling.report.tables.questions.contrasts import RATIOS, contrast_rows
from scaling.report.tables.questions.question import Question
from scaling.study.questions import OVER_PROCESSES, OVER_SERVER

WITH_MODULES = (
    *("gain", "headline", "step", OVER_PROCESSES, "break-even", "version", "setting", "loop"),
    *("runtime", OVER_SERVER),
)


def _grids(compared: Compared, study: StudyLine) -> list[Grid]:
    del study
    asked = dict.fromkeys(each.question for each in compared.ratios)
    return [_grid(compared, name) for name in asked if name not in WITH_MODULES]


def _grid(compared: Compared, question: str) -> Grid:
    rows = contrast_rows(
        compared.ratios.where(question), lambda each: (stacked(each.of), stacked(each.over))
    )
    return Grid(question.capitalize(), ["N", "of", "over", *RATIOS], rows, 3)


QUESTION = Question("settings", _grids)
