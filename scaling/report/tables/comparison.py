"""A study's comparison as chapters of words and tables, and what casts doubt on all of a study."""

import pandas as pd

from scaling.analysis.comparison.build_differences import build_differences
from scaling.analysis.comparison.compare import Compared
from scaling.analysis.results import StudyResults
from scaling.journal.record import StudyLine
from scaling.report.tables.comparison_grids import (
    collector_grids,
    even_grid,
    ladder_grids,
    loop_grids,
    memory_grids,
    rival_grids,
    runtime_grids,
    version_grids,
)
from scaling.report.tables.grid import Chapter
from scaling.report.tables.loop_sentences import across_loops
from scaling.report.tables.margins import floors
from scaling.report.tables.measures import again
from scaling.report.tables.phrases import basis
from scaling.report.tables.sentences import answers, states
from scaling.study.scaled import scaled_to


def chapters(
    frame: pd.DataFrame, study: StudyLine, told: StudyResults | None = None, *, alone: bool = True
) -> list[Chapter]:
    """A study's comparison: first what casts doubt on all of it, then its chapters.

    There is one per section and loop, and after those of a section one across its loops. `told` is
    what was worked out of the study already, if anything. `alone` is False where it stands with a
    study's other tables, which tell of the controls.
    """
    told = told or StudyResults(frame, study)
    found = [_chapter(each, study) for each in told.compared]
    borne_out = [chapter for chapter in found if chapter.grids]
    warnings = warnings_of(told) if alone else doubts(study)
    if not borne_out or not warnings:
        return borne_out
    return [Chapter("Before you read on", warnings), *borne_out]


def warnings_of(told: StudyResults) -> list[str]:
    """What casts doubt on all of a study: its controls, its scale, then `doubts`."""
    warnings = (told.soundness.text, scaled_to(told.study.study))
    return [*filter(None, warnings), *doubts(told.study)]


def doubts(study: StudyLine) -> list[str]:
    """That builds differ in more than the thing compared, if they do."""
    differing = "; ".join(map(str, build_differences(study)))
    return [f"The builds differ in more than what is compared: {differing}."] if differing else []


def _chapter(compared: Compared, study: StudyLine) -> Chapter:
    grids = [
        *ladder_grids(compared.ladders),
        *rival_grids(compared.baseline_ratios),
        *(even_grid(each) for each in compared.break_evens),
        *version_grids(compared.versions, study),
        *collector_grids(compared.collectors),
        *loop_grids(compared.loops),
        *runtime_grids(compared.runtimes),
        *([] if compared.is_across_loops else memory_grids(compared)),
    ]
    shown = [figure for grid in grids for figure in grid.estimates]
    points = [point for curve in compared.runs.curves for point in curve.points]
    told = [*answers(compared), *across_loops(compared)]
    words = [*told, basis(shown), *floors(compared), *states(compared), *again(points)]
    return Chapter(compared.runs.title, words, grids)
