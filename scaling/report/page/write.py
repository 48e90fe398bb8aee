"""`scaling report`: a study on one page, written beside its journal."""

from pathlib import Path

from rich.console import Console

from scaling.analysis.results import StudyResults
from scaling.base.console import say
from scaling.journal.protected_write import write_file
from scaling.report.page.picture import Pictures
from scaling.report.page.render import DRAWN, page
from scaling.report.reading import read

FILE_NAME = "report.html"
KIB = 1024


def report(results: Path, output: Path | None, console: Console) -> Path:
    """Write the page of the study in `results` to `output`, by default beside its journal.

    Raises:
        UsageError: there is no journal that could be read, or `output` is one.
        ScalingError: the page cannot be written.
    """
    journal = read(results, console)
    file = output or journal.path.parent / FILE_NAME
    size_kib = -(-write_page(StudyResults.of(journal), file) // KIB)
    say(console, f"report: {file} ({size_kib:,} KiB, needs no network)")
    return file


def write_page(results: StudyResults, file: Path, pictures: Pictures = DRAWN) -> int:
    """Write the page; return its size in bytes.

    Raises `ScalingError` if it cannot be written, `OSError` if a plot is not in the folder of
    `pictures`.
    """
    html = page(results, pictures).encode()
    write_file(file, lambda unfinished: unfinished.write_bytes(html), again="scaling report")
    return len(html)
