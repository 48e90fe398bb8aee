"""Every question of a comparison, in the order in which answers and tables are shown.

A question without a module has a plain table (`others`). To show one otherwise, write a module with
a `QUESTION` and name it here.
"""

from scaling.analysis.comparison import Compared
from scaling.report.tables.findings import Finding, Question, contrast_grids, heading, named
from scaling.report.tables.grid import Grid
from scaling.report.tables.questions import arms, models
from scaling.study.questions import OVER_PROCESSES, OVER_SERVER, OVER_SMALLEST_POOL, THROUGHPUT

# ------------------------------------------------------------------------------------------- others
# Questions without a module of their own: a table for each, so that a new one is shown at once,
# with a column for each measure that it asks for.

WITH_MODULES = (
    *("gain", "headline", "step", OVER_PROCESSES, "break-even", "version", "setting", "loop"),
    *("runtime", OVER_SERVER, OVER_SMALLEST_POOL),
)


def _grids(compared: Compared) -> list[Grid]:
    asked = dict.fromkeys(each.question for each in compared.ratios)
    return [
        grid
        for name in asked
        if name not in WITH_MODULES
        for grid in contrast_grids(
            name.capitalize(), compared.ratios.where(name), ["of", "over"], first=()
        )
    ]


def _findings(compared: Compared) -> list[Finding]:
    """What each question is about first; of a measure besides throughput with its name."""
    return [
        Finding(
            f"{'' if each.measure == THROUGHPUT else f'{heading(each.asked_measure)} of '}"
            f"{named(each.of)} over {named(each.over)}",
            each,
        )
        for each in compared.ratios
        if each.question not in WITH_MODULES and each.is_headline
    ]


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


def question_grids(compared: Compared) -> list[Grid]:
    """The tables of all questions."""
    return [grid for question in QUESTIONS for grid in question.grids(compared)]
