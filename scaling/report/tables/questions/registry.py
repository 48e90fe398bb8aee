"""Every question of a comparison, in the order in which answers and tables are shown.

A question without a module has a plain table (`others`). To show one otherwise, write a module with
a `QUESTION` and name it here.
"""

from scaling.analysis.comparison.compare import Compared
from scaling.journal.record import StudyLine
from scaling.report.tables.findings import Finding, stacked
from scaling.report.tables.grid import Grid
from scaling.report.tables.questions import arms, models
from scaling.report.tables.questions.question import (
    Question,
    contrast_headings,
    contrast_rows,
    headline_findings,
)
from scaling.study.questions import OVER_PROCESSES, OVER_SERVER, OVER_SMALLEST_POOL

# ------------------------------------------------------------------------------------------- others
# Questions without a module of their own: a table for each, so that a new one is shown at once,
# with a column for each measure that it asks for.

WITH_MODULES = (
    *("gain", "headline", "step", OVER_PROCESSES, "break-even", "version", "setting", "loop"),
    *("runtime", OVER_SERVER, OVER_SMALLEST_POOL),
)


def _grids(compared: Compared, study: StudyLine) -> list[Grid]:
    del study
    asked = dict.fromkeys(each.question for each in compared.ratios)
    return [_grid(compared, name) for name in asked if name not in WITH_MODULES]


def _grid(compared: Compared, question: str) -> Grid:
    found = compared.ratios.where(question)
    rows = contrast_rows(found, lambda each: (stacked(each.of), stacked(each.over)), first=())
    headings = ["N", "of", "over", *contrast_headings(found, first=())]
    return Grid(question.capitalize(), headings, rows, 3)


def _findings(compared: Compared) -> list[Finding]:
    others = compared.ratios.where(keep=lambda each: each.question not in WITH_MODULES)
    return headline_findings(others)


OTHERS = Question("settings", _grids, _findings)


# ----------------------------------------------------------------------------------------- registry

QUESTIONS = (
    models.GAIN,
    arms.LADDER,
    models.PROCESSES,
    models.SERVERS,
    models.POOLS,
    models.BREAK_EVEN,
    arms.VERSIONS,
    arms.SETTINGS,
    arms.LOOPS,
    arms.RUNTIMES,
    OTHERS,
    models.EXTRA_WORKERS,
)
