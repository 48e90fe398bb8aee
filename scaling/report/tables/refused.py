"""What a study asked for and could not run, with the reasons that its plan gave."""

from scaling.base import formats
from scaling.journal.record import StudyLine
from scaling.report.tables.grid import Cell, Chapter, Grid

TITLE = "What cannot be run"
HEADINGS = ["workload", "loop", "arms", "model", "sizing", "reason"]


def refused_chapters(study: StudyLine) -> list[Chapter]:
    """A table with a row for each reason; none where everything could be run."""
    rows: list[list[Cell]] = [
        [each.workload, each.loop, ", ".join(each.arms), each.model, each.sizing, each.reason]
        for each in study.refused
    ]
    return [Chapter(TITLE, [], [Grid("", HEADINGS, rows, words=len(HEADINGS))])] if rows else []


def refused_sentence(study: StudyLine) -> str:
    """`12 combinations cannot be run: see the tables.`; empty for none."""
    count = len(study.refused)
    return f"{formats.plural(count, 'combination')} cannot be run: see the tables." if count else ""
