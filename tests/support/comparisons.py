"""Looks up one comparison, or one chapter of the text about it."""

from collections.abc import Callable
from pathlib import Path

from scaling.analysis.comparison.compare import Compared
from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import Journal, read_journal
from scaling.journal.record import Cell, RunLine
from scaling.report.tables.comparison import chapters
from scaling.report.tables.grid import Chapter
from tests.support.fabricate import Made, journal, write


def made_up(
    folder: Path, made: Made, change: Callable[[RunLine], RunLine] | None = None
) -> StudyResults:
    """The results of a fabricated study; its runs may be changed."""
    return StudyResults.of(read_journal(write(journal(made, change), folder / "journal.jsonl")))


def compared_in(
    folder: Path, made: Made, change: Callable[[RunLine], RunLine] | None = None
) -> Compared:
    """The comparison of a fabricated study of one section and loop."""
    (found,) = made_up(folder, made, change).judged
    return found


def place(cell: Cell) -> tuple[str, str, int]:
    """Arm, model and N of a cell."""
    return cell.arm, cell.model, cell.workers


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
