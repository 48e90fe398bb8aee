"""Each arm without the garbage collector over the same arm with it."""

from scaling.analysis.comparison.compare import Compared
from scaling.journal.record import StudyLine
from scaling.report.tables.grid import Cell, Grid
from scaling.report.tables.phrases import stacked
from scaling.report.tables.questions.question import Question


def _grids(compared: Compared, study: StudyLine) -> list[Grid]:
    del study
    rows: list[list[Cell]] = [
        [
            str(each.of.workers),
            stacked(each.of),
            stacked(each.over),
            each.throughput,
            each.cpu_s_per_op,
        ]
        for each in compared.collectors
    ]
    headings = ["N", "without", "over", "throughput", "CPU per op"]
    return [Grid("What the garbage collector costs", headings, rows, 3)] if rows else []


QUESTION = Question("collector", _grids)
