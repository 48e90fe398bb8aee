"""What commands print of a study, and the files that they make from its journal."""

from pathlib import Path

from rich.console import Console

from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import Journal, read_journal
from scaling.base import formats
from scaling.base.console import say
from scaling.base.errors import ScalingError
from scaling.report.files import TABLES, write_derived


def finish(
    folder: Path,
    console: Console,
    *,
    memory_bytes: float | None = None,
    json_to: Console | None = None,
) -> None:
    """End a run: write tables, plots and page beside the journal in `folder`, print the answer.

    That of an application says how many workers fit into `memory_bytes`, and is printed as JSON
    with `json_to`.

    Raises:
        UsageError: there is no journal that could be read.
        ScalingError: something cannot be written, or no run of the study is valid.
    """
    from scaling.report.export.application import application_json
    from scaling.report.page.write import FILE_NAME, write_page
    from scaling.report.terminal.answer import print_answer
    from scaling.report.terminal.app_answer import print_app_answer

    journal = read(folder, console)
    results = StudyResults.of(journal)
    write_derived(results, folder)
    page = folder / FILE_NAME
    write_page(results, page)
    if "application" not in results.study.study:
        print_answer(results, folder, page, console)
    elif json_to is None:
        print_app_answer(results, folder, page, console, memory_bytes)
    else:
        say(json_to, application_json(results))
    if not journal.frame["valid"].any():
        raise ScalingError(
            f"none of the {formats.plural(len(journal.frame), 'run')} is valid, so there is no "
            f"figure; the reasons are in {folder / TABLES}"
        )


def print_tables(journal: Journal, folder: Path, console: Console) -> None:
    """Print all tables of a study, its comparison included; write tables and plots to `folder`.

    Raises:
        ScalingError: something cannot be written.
    """
    from scaling.report.tables.comparison import chapters
    from scaling.report.tables.comparison_view import Comparison
    from scaling.report.tables.results_view import Results

    results = StudyResults.of(journal)
    console.print(Results(results))
    if found := chapters(results, alone=False):
        console.print(Comparison(found))
    _say_written(journal, folder, write_derived(results, folder), console)


def write_again(results: Path, output: Path | None, console: Console) -> None:
    """Write every derived file of a study anew into `output`, by default beside its journal.

    Raises:
        UsageError: there is no journal that could be read.
        ScalingError: something cannot be written.
    """
    journal = read(results, console)
    folder = output or journal.path.parent
    _say_written(journal, folder, write_derived(StudyResults.of(journal), folder), console)


def read(results: Path, console: Console) -> Journal:
    """The journal; prints what was skipped in it. Raises `UsageError` as `read_journal` does."""
    journal = read_journal(results)
    for note in journal.notes:
        say(console, note)
    return journal


def _say_written(journal: Journal, folder: Path, files: list[Path], console: Console) -> None:
    """`made from it: tables.md, summary.csv, laws.csv, 12 plots as SVG and PNG, in FOLDER`."""
    names = [file.name for file in files if file.parent == folder]
    pictures = sum(file.suffix == ".svg" for file in files)
    made = ", ".join([*names, f"{formats.plural(pictures, 'plot')} as SVG and PNG"])
    say(console, f"journal: {journal.path}\nmade from it: {made}, in {folder}")
