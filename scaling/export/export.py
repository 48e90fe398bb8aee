"""`scaling export`: a study written for another program, beside its journal or where it is asked.

What can be read again from a journal can be lost; a journal cannot. So a file that is one is never
written over, whatever it is called, and a file is there whole or not at all.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from scaling.errors import UsageError
from scaling.export.pyperf_suite import write_suite
from scaling.export.runs import write_csv, write_parquet
from scaling.export.text import write_markdown
from scaling.export.whole import whole
from scaling.frame.frame import Journal
from scaling.journal.kept import holds_journal
from scaling.names import unknown
from scaling.tell import read
from scaling.writing import try_writing


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file: what it is called beside the journal, and what writes it."""

    file_name: str
    write: Callable[[Journal, Path], None]


FORMATS = {
    "parquet": Format("runs.parquet", write_parquet),
    "csv": Format("runs.csv", write_csv),
    "pyperf": Format("pyperf.json", write_suite),
    "markdown": Format("tables.md", write_markdown),
}


def export(results: Path, to: str, output: Path | None, console: Console) -> Path:
    """Write the study in `results` in one of `FORMATS` to `output`, a file or a folder for it.

    Raises:
        UsageError: no such format, no journal that could be read, or `output` is a journal.
        ScalingError: the file cannot be written, or there is nothing to put into it.
    """
    if to not in FORMATS:
        raise unknown("format", to, FORMATS, where="--to")
    journal = read(results, console)
    file = output or journal.path.parent
    if file.is_dir():
        file /= FORMATS[to].file_name

    def write() -> None:
        if holds_journal(file):
            raise UsageError(f"{file} is a journal: nothing is written over it, name another file")
        file.parent.mkdir(parents=True, exist_ok=True)
        with whole(file) as unfinished:
            FORMATS[to].write(journal, unfinished)

    try_writing(file, write, again="scaling export")
    console.print(f"written: {file}", markup=False, highlight=False, soft_wrap=True)
    return file
