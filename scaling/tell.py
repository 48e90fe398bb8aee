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
    from scaling.tables.export import markdown, write_csv

    journal = _read(folder, console)
    console.print(Results(journal.frame, journal.study))
    _try_writing(lambda: write_csv(journal.frame, journal.study, folder / "summary.csv"))
    text = markdown(journal.frame, journal.study)
    _try_writing(lambda: (folder / "tables.md").write_text(text, encoding="utf-8"))
    _draw(journal, folder / PLOTS, console)


def draw(results: Path, output: Path | None, console: Console) -> None:
    """Draw the plots of a study from its journal into `output`, by default beside the journal.

    Raises:
        UsageError: there is no journal that could be read.
        ScalingError: the plots cannot be written.
    """
    journal = _read(results, console)
    _draw(journal, output or journal.path.parent / PLOTS, console)


def _read(results: Path, console: Console) -> Journal:
    journal = read_journal(results)
    for note in journal.notes:
        console.print(note, markup=False, highlight=False, soft_wrap=True)
    return journal


def _draw(journal: Journal, folder: Path, console: Console) -> None:
    from scaling.plots import draw_all

    files = _try_writing(lambda: draw_all(journal.frame, journal.study, folder))
    pictures = sum(file.suffix == ".svg" for file in files)
    console.print(
        f"journal: {journal.path}\n{pictures} plots, as SVG and PNG: {folder}",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


def _try_writing[T](write: Callable[[], T]) -> T:
    try:
        return write()
    except OSError as error:
        raise ScalingError(
            f"{error.filename} cannot be written ({error.strerror}); the journal is whole. "
            f"`scaling plot` draws it again"
        ) from None
