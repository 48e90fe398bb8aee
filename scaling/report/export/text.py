"""Markdown: the tables of a study for a pull request, and what its exported columns mean."""

from pathlib import Path

from scaling.analysis.results import StudyResults
from scaling.analysis.table.columns import columns_markdown
from scaling.analysis.table.load import Journal
from scaling.report.files import tables_markdown


def write_markdown(journal: Journal, file: Path) -> None:
    """Write the text that a run leaves beside its journal. Raises `OSError`."""
    text = tables_markdown(StudyResults.of(journal))
    file.write_text(text, encoding="utf-8")


def write_columns(_: Journal, file: Path) -> None:
    """Write what each column of CSV and Parquet files means. Raises `OSError`."""
    file.write_text(f"{columns_markdown()}\n", encoding="utf-8")
