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
from scaling.report.export.trends import bencher, github_action_benchmark
from scaling.report.output import read


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file: what it is called in a folder, and what writes it.

    One that is `printed` goes to standard output unless a path is given; any other is written
    beside the journal.
    """

    file_name: str
    write: Callable[[Journal, Path], None]
    printed: Callable[[Journal], str] | None = None


def _printed(file_name: str, text: Callable[[Journal], str]) -> Format:
    def write(journal: Journal, file: Path) -> None:
        file.write_text(text(journal), encoding="utf-8")

    return Format(file_name, write, text)


FORMATS = {
    "parquet": Format("runs.parquet", write_parquet),
    "csv": Format("runs.csv", write_csv),
    "columns": Format("columns.md", write_columns),
    "pyperf": Format("pyperf.json", write_suite),
    "hdr": Format("latencies.zip", write_percentiles),
    "markdown": Format("tables.md", write_markdown),
    "bencher": _printed("bencher.json", bencher),
    "github-action-benchmark": _printed(
        "bigger-is-better.json", partial(github_action_benchmark, better="more")
    ),
    "github-action-benchmark-smaller": _printed(
        "smaller-is-better.json", partial(github_action_benchmark, better="less")
    ),
}


def export(
    results: Path, to: str, output: Path | None, console: Console, errors: Console | None = None
) -> Path | None:
    """Write the study in `results` in one of `FORMATS` to `output`, a file or a folder for it.

    Returns the file, or None if the format was printed on the `console`; notes about the journal
    then go to `errors`.

    Raises:
        UsageError: no such format, no journal that could be read, or `output` is a journal.
        ScalingError: the file cannot be written, or there is nothing to put into it.
    """
    if to not in FORMATS:
        raise unknown("format", to, FORMATS, where="--to")
    format_ = FORMATS[to]
    if output is None and format_.printed:
        say(console, format_.printed(read(results, errors or console)).rstrip("\n"))
        return None
    journal = read(results, console)
    file = output or journal.path.parent
    if file.is_dir():
        file /= format_.file_name
    write_file(file, partial(format_.write, journal), again="scaling export")
    say(console, f"written: {file}")
    return file
