"""The tables of a study as Markdown, comparison and all: for a pull request."""

from pathlib import Path

from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import Journal
from scaling.report.files import tables_markdown


def write_markdown(journal: Journal, file: Path) -> None:
    """Write the text that a run leaves beside its journal. Raises `OSError`."""
    text = tables_markdown(StudyResults.of(journal))
    file.write_text(text, encoding="utf-8")
