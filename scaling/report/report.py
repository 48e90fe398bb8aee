"""`scaling report`: a study told on one page, written beside its journal."""

from pathlib import Path

from rich.console import Console

from scaling.report.page import page
from scaling.tell import read
from scaling.writing import try_writing

FILE_NAME = "report.html"
KIB = 1024


def report(results: Path, output: Path | None, console: Console) -> Path:
    """Write the page of the study in `results` to `output`, by default beside its journal.

    Raises:
        UsageError: there is no journal that could be read.
        ScalingError: the page cannot be written.
    """
    journal = read(results, console)
    file = output or journal.path.parent / FILE_NAME
    html = page(journal)

    def write() -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(html, encoding="utf-8")

    try_writing(file, write, again="scaling report")
    size_kib = -(-len(html.encode()) // KIB)
    console.print(
        f"report: {file} ({size_kib:,} KiB, needs no network)",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    return file
