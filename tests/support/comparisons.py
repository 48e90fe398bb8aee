"""Looks up one comparison, or one chapter of the text about it."""

from dataclasses import replace
from pathlib import Path

from scaling.analysis.comparison.compare import Compared
from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import Journal
from scaling.report.tables.comparison import chapters
from scaling.report.tables.grid import Chapter
from tests.support.fabricate import Made
from tests.support.runs import Change
from tests.support.studies import place

__all__ = ["across_loops", "chapter", "compared_in", "place"]


def compared_in(_folder: Path, made: Made, change: Change | None = None) -> Compared:
    """The comparison of a fake study of one section and loop."""
    return replace(made, change=change).compared


def across_loops(study: Journal) -> Compared:
    """The comparison of loops with each other, of which a study has one."""
    (found,) = [
        each for each in StudyResults(study.frame, study.study).compared if each.is_across_loops
    ]
    return found


def chapter(study: Journal, title: str) -> Chapter:
    """The chapter with the table of that title."""
    (found,) = [
        each
        for each in chapters(StudyResults.of(study))
        if title in [grid.title for grid in each.grids]
    ]
    return found
