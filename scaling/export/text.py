"""The tables of a study as Markdown, comparison and all: for a pull request."""

from pathlib import Path

from scaling.frame.frame import Journal
from scaling.tables.comparison import chapters
from scaling.tables.comparison_view import comparison_markdown
from scaling.tables.export import markdown


def write_markdown(journal: Journal, file: Path) -> None:
    """Write the text that a run leaves beside its journal. Raises `OSError`."""
    frame, study = journal.frame, journal.study
    told = chapters(frame, study, alone=False)
    file.write_text(markdown(frame, study, comparison_markdown(told)), encoding="utf-8")
