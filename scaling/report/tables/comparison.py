"""A study's comparison as chapters of words and tables, and what casts doubt on all of a study."""

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
from scaling.report.tables.phrases import ratios_note
from scaling.report.tables.sentences import answers, states
from scaling.study.scaled import scaled_to


def chapters(results: StudyResults, *, alone: bool = True) -> list[Chapter]:
    """A study's comparison: first what casts doubt on all of it, then its chapters.

    There is one per section and loop, and after those of a section one across its loops. `alone`
    is False where the comparison stands with a study's other tables, which show the controls.
    """
    study = results.study
    found = [_chapter(each, study) for each in results.compared]
    borne_out = [chapter for chapter in found if chapter.grids]
    warnings = warnings_of(results) if alone else doubts(study)
    if not borne_out or not warnings:
        return borne_out
    return [Chapter("Before you read on", warnings), *borne_out]


def warnings_of(results: StudyResults) -> list[str]:
    """What casts doubt on all of a study: its controls, its scale, then `doubts`."""
    warnings = (results.soundness.text, scaled_to(results.study.study))
    return [*filter(None, warnings), *doubts(results.study)]


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
    words = [*told, ratios_note(shown), *floors(compared), *states(compared), *again(points)]
    return Chapter(compared.runs.title, words, grids)
