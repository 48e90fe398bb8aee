"""`scaling export`: a study written for another program, beside its journal or elsewhere."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console

from scaling.analysis.table.load import Journal
from scaling.base.console import say
from scaling.base.suggest import unknown
from scaling.journal.protected_write import write_file
from scaling.report.export.percentiles import write_percentiles
from scaling.report.export.pyperf_suite import write_suite
from scaling.report.export.runs import write_csv, write_parquet
from scaling.report.export.text import write_columns, write_markdown
from scaling.report.output import read


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file: what it is called beside the journal, and what writes it."""

    file_name: str
    write: Callable[[Journal, Path], None]


FORMATS = {
    "parquet": Format("runs.parquet", write_parquet),
    "csv": Format("runs.csv", write_csv),
    "columns": Format("columns.md", write_columns),
    "pyperf": Format("pyperf.json", write_suite),
    "hdr": Format("latencies.zip", write_percentiles),
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
    write_file(file, partial(FORMATS[to].write, journal), again="scaling export")
    say(console, f"written: {file}")
    return file
