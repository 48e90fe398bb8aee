"""What an extra worker takes, by arm and model."""

from scaling.analysis.comparison.compare import Compared
from scaling.base import formats
from scaling.base.vocabulary import MODELS
from scaling.journal.record import StudyLine
from scaling.report.tables.grid import Cell, Grid
from scaling.report.tables.questions.question import Question


def _grids(compared: Compared, study: StudyLine) -> list[Grid]:
    del study
    if compared.is_across_loops or not compared.compares:
        return []
    curves = [curve for curve in compared.curves if curve.slope.n]
    models = [model for model in MODELS if any(c.key.model == model for c in curves)]
    slopes = {(c.key.arm, c.key.model): c.slope for c in curves}
    rows: list[list[Cell]] = [
        [arm, *(slopes.get((arm, model), formats.BLANK) for model in models)]
        for arm in compared.arms
        if any((arm, model) in slopes for model in models)
    ]
    if not rows:
        return []
    return [Grid(f"MiB ({compared.memory_kind}) per extra worker", ["arm", *models], rows)]


QUESTION = Question("memory", _grids)
