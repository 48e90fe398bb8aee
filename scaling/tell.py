"""A measured study told: tables on the terminal, tables and plots beside the journal."""

from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

from scaling import wording
from scaling.analysis.comparison import Compared, compare_ways
from scaling.errors import ScalingError
from scaling.frame.frame import Journal, read_journal
from scaling.tables.tables import Results

PLOTS = "plots"


def tell(folder: Path, console: Console) -> None:
    """Print the tables of the study in `folder`; write them and the plots beside its journal.

    Raises:
        UsageError: there is no journal that could be read.
        ScalingError: something cannot be written, or no run of the study is valid.
    """
    journal = read(folder, console)
    tell_journal(journal, folder, console)
    if not journal.frame["valid"].any():
        raise ScalingError(
            f"none of the {wording.plural(len(journal.frame), 'run')} is valid, so there is no "
            f"figure; the reasons stand above, and in {folder / 'tables.md'}"
        )


def tell_journal(journal: Journal, folder: Path, console: Console) -> None:
    """The same for a journal that was read, with everything written into `folder`.

    Where there are several arms, models or loops, they are compared, too.

    Raises:
        ScalingError: something cannot be written.
    """
    from scaling.tables.comparison import chapters
    from scaling.tables.comparison_rows import comparison_rows
    from scaling.tables.comparison_view import Comparison, comparison_markdown
    from scaling.tables.export import markdown, write_csv, write_rows
    from scaling.tables.laws_view import law_rows

    frame, study = journal.frame, journal.study
    console.print(Results(frame, study))
    try_writing(folder, lambda: folder.mkdir(parents=True, exist_ok=True))
    summary = folder / "summary.csv"
    try_writing(summary, lambda: write_csv(frame, study, summary))
    fitted, laws = law_rows(frame, study), folder / "laws.csv"
    try_writing(laws, lambda: write_rows(fitted, laws))
    compared = compare_ways(frame, study)
    told = chapters(frame, study, compared, alone=False)
    if told:
        console.print(Comparison(told))
        rows, ratios = comparison_rows(frame, study, compared), folder / "comparison.csv"
        try_writing(ratios, lambda: write_rows(rows, ratios))
    text, tables = markdown(frame, study, comparison_markdown(told)), folder / "tables.md"
    try_writing(tables, lambda: tables.write_text(text, encoding="utf-8"))
    _draw(journal, folder / PLOTS, console, compared)


def draw(results: Path, output: Path | None, console: Console) -> None:
    """Draw the plots of a study from its journal into `output`, by default beside the journal.

    Raises:
        UsageError: there is no journal that could be read.
        ScalingError: the plots cannot be written.
    """
    journal = read(results, console)
    _draw(journal, output or journal.path.parent / PLOTS, console)


def read(results: Path, console: Console) -> Journal:
    """The journal, with what was skipped in it told. Raises `UsageError` as `read_journal` does."""
    journal = read_journal(results)
    for note in journal.notes:
        console.print(note, markup=False, highlight=False, soft_wrap=True)
    return journal


def _draw(
    journal: Journal, folder: Path, console: Console, compared: Sequence[Compared] | None = None
) -> None:
    from scaling.plots import draw_all

    files = try_writing(
        folder,
        lambda: draw_all(journal.frame, journal.study, folder, journal.ceilings, compared),
        again="scaling plot",
    )
    pictures = sum(file.suffix == ".svg" for file in files)
    console.print(
        f"journal: {journal.path}\n{pictures} plots, as SVG and PNG: {folder}",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


def try_writing[T](path: Path, write: Callable[[], T], again: str = "scaling compare") -> T:
    """Write something; `path` and the command that writes it `again` are for the message.

    Raises:
        ScalingError: the system says something against it.
    """
    try:
        return write()
    except OSError as error:
        raise ScalingError(
            f"{error.filename or path} cannot be written ({error.strerror or error}); the journal "
            f"is whole. `{again}` writes it again"
        ) from None
