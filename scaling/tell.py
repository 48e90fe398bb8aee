"""A measured study told: tables on the terminal, tables and plots beside the journal."""

from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from scaling.errors import ScalingError
from scaling.frame.frame import Journal, read_journal
from scaling.tables.tables import Results

PLOTS = "plots"


def tell(folder: Path, console: Console) -> None:
    """Print the tables of the study in `folder`; write them and the plots beside its journal.

    Raises:
        UsageError: there is no journal that could be read.
        ScalingError: the plots cannot be written.
    """
    tell_journal(read(folder, console), folder, console)


def tell_journal(journal: Journal, folder: Path, console: Console) -> None:
    """The same for a journal that was read, with everything written into `folder`.

    Where there are several arms or models, they are compared, too.

    Raises:
        ScalingError: something cannot be written.
    """
    from scaling.tables.comparison import chapters
    from scaling.tables.comparison_rows import comparison_rows
    from scaling.tables.comparison_view import Comparison, comparison_markdown
    from scaling.tables.export import markdown, write_csv, write_rows

    frame, study = journal.frame, journal.study
    console.print(Results(frame, study))
    try_writing(lambda: folder.mkdir(parents=True, exist_ok=True))
    try_writing(lambda: write_csv(frame, study, folder / "summary.csv"))
    text = markdown(frame, study)
    if compared := chapters(frame, study):
        console.print(Comparison(chapters(frame, study, alone=False)))
        text = f"{comparison_markdown(compared)}\n\n{text}"
        rows = comparison_rows(frame, study)
        try_writing(lambda: write_rows(rows, folder / "comparison.csv"))
    try_writing(lambda: (folder / "tables.md").write_text(text, encoding="utf-8"))
    _draw(journal, folder / PLOTS, console)


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


def _draw(journal: Journal, folder: Path, console: Console) -> None:
    from scaling.plots import draw_all

    files = try_writing(lambda: draw_all(journal.frame, journal.study, folder))
    pictures = sum(file.suffix == ".svg" for file in files)
    console.print(
        f"journal: {journal.path}\n{pictures} plots, as SVG and PNG: {folder}",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


def try_writing[T](write: Callable[[], T]) -> T:
    """Write something. Raises `ScalingError` for what the system says against it."""
    try:
        return write()
    except OSError as error:
        raise ScalingError(
            f"{error.filename} cannot be written ({error.strerror}); the journal is whole. "
            f"`scaling plot` draws it again"
        ) from None
