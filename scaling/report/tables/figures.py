"""All figures of a study as chapters: a table of each section, and of what each parameter does."""

from collections.abc import Iterator

from scaling.analysis.curves.sections import Section
from scaling.analysis.results import StudyResults
from scaling.report.tables.grid import Chapter
from scaling.report.tables.laws_view import law_lines
from scaling.report.tables.measures import curve_name, measures, notes, values_grid
from scaling.report.tables.rated import free_sections, free_sweeps
from scaling.report.tables.swept import sweep_grids, sweep_note


def figure_chapters(results: StudyResults, *, extra: bool = True) -> Iterator[Chapter]:
    """A chapter of each section and each sweep; with `extra` columns if there is room for them."""
    for section in free_sections(results):
        shown = [measure for measure in measures(section) if extra or not measure.extra]
        below = [*_slopes(section), *law_lines(section), *notes(section)]
        yield Chapter(section.title, [], [values_grid(section, shown, note="\n".join(below))])
    for sweep in free_sweeps(results):
        if grids := sweep_grids(sweep):
            yield Chapter(sweep.title, [], [*grids[:-1], grids[-1].noted(sweep_note(sweep))])


def _slopes(section: Section) -> list[str]:
    return [
        f"{curve_name(curve)}: {curve.slope!s} MiB {curve.memory_kind} per extra worker"
        for curve in section.curves
        if curve.slope.n
    ]
