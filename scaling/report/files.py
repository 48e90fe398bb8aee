"""Reads a study's journal, and makes all its other files from it.

Only the journal must be kept: `scaling report` makes the others again, also after figures are
computed differently.
"""

import gc
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from rich.console import Console

from scaling.analysis.results import StudyResults, incomplete
from scaling.analysis.table.load import Journal, read_journal
from scaling.base.console import say
from scaling.journal.protected_write import try_writing, write_file

TABLES, SUMMARY = "tables.md", "summary.csv"
COMPARISON, LOSSES = "comparison.csv", "losses.csv"
PLOTS = "plots"
AGAIN = "scaling report"

# Between two collections. Most objects live until the command ends, and few are in a cycle: at
# Python's own number a twentieth of the time is spent on looking through them.
ALLOCATIONS = 50_000


def read(results: Path, console: Console) -> Journal:
    """The journal; prints what was skipped in it, and whether it is incomplete.

    From here on garbage is collected rarely. Raises `UsageError` as `read_journal` does.
    """
    gc.set_threshold(ALLOCATIONS)
    journal = read_journal(results)
    for note in journal.notes:
        say(console, note)
    say_incomplete(journal, console)
    return journal


def say_incomplete(journal: Journal, console: Console) -> None:
    """Print what of the study is missing; nothing where all is there.

    Every output begins with it, and those in which it would scroll away end with it, too.
    """
    if text := incomplete(journal.frame, journal.study, journal.notes):
        say(console, f"{text} in {journal.path}")


def write_derived(
    results: StudyResults, folder: Path, formats: Sequence[str] = ("svg", "png")
) -> list[Path]:
    """Write all that is made from the journal into `folder`, which is made; return these files.

    `formats` are those of plots.

    Raises:
        ScalingError: something cannot be written.
    """
    return [*write_tables(results, folder), *write_plots(results, folder / PLOTS, formats)]


def write_tables(results: StudyResults, folder: Path) -> list[Path]:
    """Write the Markdown and CSV files; those of comparison and losses where there are any.

    Raises:
        ScalingError: something cannot be written.
    """
    from scaling.report.tables.export import comparison_rows, summary
    from scaling.report.tables.losses import loss_rows
    from scaling.report.tables.measures import write_rows

    files: dict[str, Callable[[Path], object]] = {
        TABLES: lambda file: file.write_text(tables_markdown(results), encoding="utf-8"),
        SUMMARY: partial(write_rows, summary(results)),
    }
    for name, rows in {COMPARISON: comparison_rows(results), LOSSES: loss_rows(results)}.items():
        if len(rows):
            files[name] = partial(write_rows, rows)
    for name, write in files.items():
        write_file(folder / name, write, AGAIN)
    return [folder / name for name in files]


def tables_markdown(results: StudyResults) -> str:
    """All tables of a study as Markdown, its comparison among them."""
    from scaling.report.tables.comparison import chapters
    from scaling.report.tables.export import markdown
    from scaling.report.tables.grid import chapters_markdown
    from scaling.report.tables.losses import loss_chapters

    shown = [*chapters(results, alone=False), *loss_chapters(results)]
    return markdown(results, chapters_markdown(shown))


def write_plots(results: StudyResults, folder: Path, formats: Sequence[str]) -> list[Path]:
    """Draw every plot in these formats.

    Raises:
        ScalingError: something cannot be written.
    """
    from scaling.report.plots.draw import draw_all

    return try_writing(folder, lambda: draw_all(results, folder, formats), AGAIN)
