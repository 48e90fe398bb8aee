"""Every file that is made from a journal: tables, CSV files and plots, all anew, from it alone.

The journal is kept, these are not worth keeping: whatever changes in how figures are made,
`scaling plot` has them again.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import Journal
from scaling.journal.protected_write import try_writing

TABLES, SUMMARY, LAWS, COMPARISON = "tables.md", "summary.csv", "laws.csv", "comparison.csv"
PLOTS = "plots"
AGAIN = "scaling plot"


def write_derived(
    journal: Journal,
    folder: Path,
    told: StudyResults | None = None,
    formats: Sequence[str] = ("svg", "png"),
) -> list[Path]:
    """Write all of them into `folder`, which is made; return the files written.

    `told` is what was worked out of the journal already, if anything; `formats` are those of plots.

    Raises:
        ScalingError: something cannot be written.
    """
    told = told or StudyResults(journal.frame, journal.study)
    return [*write_tables(told, folder), *write_plots(journal, folder / PLOTS, told, formats)]


def write_tables(told: StudyResults, folder: Path) -> list[Path]:
    """Write the Markdown and CSV files; that of the comparison where there is one.

    Raises:
        ScalingError: something cannot be written.
    """
    from scaling.report.tables.columns import write_rows
    from scaling.report.tables.comparison_rows import comparison_rows
    from scaling.report.tables.export import write_csv
    from scaling.report.tables.laws_view import law_rows

    study = (told.frame, told.study)
    files: dict[str, Callable[[Path], object]] = {
        TABLES: lambda file: file.write_text(tables_markdown(told), encoding="utf-8"),
        SUMMARY: lambda file: write_csv(*study, file, told),
        LAWS: lambda file: write_rows(law_rows(*study, told), file),
    }
    ratios = comparison_rows(*study, told)
    if len(ratios):
        files[COMPARISON] = lambda file: write_rows(ratios, file)
    try_writing(folder, lambda: folder.mkdir(parents=True, exist_ok=True), AGAIN)
    for name, write in files.items():
        try_writing(folder / name, partial(write, folder / name), AGAIN)
    return [folder / name for name in files]


def tables_markdown(told: StudyResults) -> str:
    """All tables of a study as Markdown, its comparison among them."""
    from scaling.report.tables.comparison import chapters
    from scaling.report.tables.comparison_view import comparison_markdown
    from scaling.report.tables.export import markdown

    study = (told.frame, told.study)
    comparison = comparison_markdown(chapters(*study, told, alone=False))
    return markdown(*study, comparison, told)


def write_plots(
    journal: Journal, folder: Path, told: StudyResults, formats: Sequence[str]
) -> list[Path]:
    """Draw every plot in these formats.

    Raises:
        ScalingError: something cannot be written.
    """
    from scaling.report.plots import draw_all

    frame, study, ceilings = journal.frame, journal.study, journal.ceilings

    def draw() -> list[Path]:
        return draw_all(frame, study, folder, ceilings, told, formats)

    return try_writing(folder, draw, AGAIN)
