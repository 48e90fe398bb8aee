"""A study's comparison as chapters: every question, and the warnings that apply to all of a study.

Answers and tables are in the order of `QUESTIONS`. A question without a module has a plain table
(`OTHERS`). To show one otherwise, write a `Question` and add it to `QUESTIONS`.
"""

from scaling.analysis.comparison import Compared
from scaling.analysis.results import StudyResults
from scaling.analysis.soundness import build_differences
from scaling.journal.record import Cell, StudyLine
from scaling.report.tables import arms, models
from scaling.report.tables.findings import (
    Finding,
    Question,
    contrast_grids,
    findings_table,
    heading,
    named,
    ratios_note,
)
from scaling.report.tables.full_stack import stack_chapters
from scaling.report.tables.grid import Chapter, Grid
from scaling.report.tables.measures import again
from scaling.report.tables.notes import collections_sentence, margins, refused_chapters, turns_text
from scaling.report.tables.rates import (
    Rated,
    at_rate_grids,
    capacity_grids,
    free_running,
    rate_grids,
    rated,
)
from scaling.study.questions import THROUGHPUT

# ---------------------------------------------------------------------------------------- questions
# Those without a module of their own have a table each, so that a new one is shown at once, with a
# column for each measure that it asks for.


def _other_grids(compared: Compared) -> list[Grid]:
    asked = dict.fromkeys(each.question for each in compared.ratios)
    return [
        grid
        for name in asked
        if name not in WITH_MODULES
        for grid in contrast_grids(
            name.capitalize(), compared.ratios.where(name), ["of", "over"], first=()
        )
    ]


def _other_findings(compared: Compared) -> list[Finding]:
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


OTHERS = Question("settings", grids=_other_grids, findings=_other_findings)

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
WITH_MODULES = {name for question in QUESTIONS for name in question.asks}


def question_grids(compared: Compared) -> list[Grid]:
    """The tables of all questions."""
    return [grid for question in QUESTIONS for grid in question.grids(compared)]


# ----------------------------------------------------------------------------------------- chapters


def chapters(results: StudyResults, *, alone: bool = True) -> list[Chapter]:
    """A study's comparison: first the warnings that apply to all of it, then its chapters.

    There is one per section and loop, and after those of a section one across its loops. `alone`
    is False where the comparison stands with a study's other tables, which show the controls.
    """
    study = results.study
    found = stack_chapters(results)
    found += [_chapter(each) for each in free_running(results) if each.compares]
    found += [_under_load(each, results) for each in rated(results)]
    found += refused_chapters(study)
    shown = [chapter for chapter in found if chapter.grids]
    warnings = warnings_of(results) if alone else doubts(study)
    if not shown or not warnings:
        return shown
    return [Chapter("Before you read on", warnings), *shown]


def warnings_of(results: StudyResults) -> list[str]:
    """What casts doubt on all of a study: its controls, its caveats, then `doubts`."""
    controls = [results.soundness.text] if results.soundness.text else []
    return [*controls, *results.caveats, *doubts(results.study)]


def doubts(study: StudyLine) -> list[str]:
    """That builds differ in more than the thing compared, if they do."""
    differing = "; ".join(map(str, build_differences(study)))
    return [f"The builds differ in more than what is compared: {differing}."] if differing else []


def answers(compared: Compared) -> list[Grid]:
    """The table of the answers at the headline N, with what must be known of them; or none."""
    found = [each for question in QUESTIONS for each in question.findings(compared)]
    if not any(each.ratio.n for each in found):
        return []
    points = [point for curve in compared.curves for point in curve.points]
    shown = [each.ratio for each in found]
    notes = [ratios_note([*shown]), *margins(compared.ratios), *states(compared), *again(points)]
    notes += filter(None, [turns_text(compared.ratios)])
    return [findings_table(found, "The answer", notes)]


def states(compared: Compared) -> list[str]:
    """The ratios of configurations that ran in different allocator states."""

    def words(cell: Cell) -> str:
        return f"{named(cell, loop=compared.is_across_loops)} ({compared.state(cell)})"

    pairs = [f"{words(of)} over {words(over)}" for of, over in compared.across_states]
    if not pairs:
        return []
    return [f"Across allocator states, which these ratios include: {'; '.join(pairs)}."]


def _chapter(compared: Compared) -> Chapter:
    grids = question_grids(compared)
    return Chapter(compared.title, [], [*answers(compared), *grids] if grids else [])


def _under_load(each: Rated, results: StudyResults) -> Chapter:
    """What clients of a served workload saw: capacities, ratios at one rate, then every rate."""
    words = filter(None, [collections_sentence(each.section, results)])
    ratios = at_rate_grids(each, results)
    grids = [*capacity_grids(each, results.ratios), *ratios, *rate_grids(each)]
    return Chapter(f"{each.section.title} · under load", [*words], grids)
