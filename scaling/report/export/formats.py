"""`scaling export`: a study for another program, on standard output or in a file."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
from rich.console import Console

from scaling.analysis.results import StudyResults
from scaling.analysis.table.column import OBJECT
from scaling.analysis.table.columns import COLUMNS, columns_markdown
from scaling.analysis.table.load import Journal
from scaling.base.console import say
from scaling.base.errors import UsageError, unknown
from scaling.journal.protected_write import write_file
from scaling.report.export.percentiles import write_percentiles
from scaling.report.export.pyperf_suite import write_suite
from scaling.report.export.trends import bencher, github_action_benchmark
from scaling.report.files import read, say_incomplete, tables_markdown
from scaling.report.tables.notes import about

# --------------------------------------------------------------------------------------------- runs
# The frame for other programs: a row for each run, as Parquet or as CSV.
#
# Both have the columns of `scaling.analysis.table.columns` in that order, and all runs, invalid
# ones and duplicates included. Lists of words or sentences and the dict of a workload's own figures
# are written as JSON. A Parquet file also has each column's unit, definition and whether more or
# less is better, and the metadata of `about`; CSV has no place for them, but units are in the
# names.


def plain(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with its objects as JSON text."""
    things = [name for name, column in COLUMNS.items() if column.dtype == OBJECT]
    return frame.assign(**{name: [_json(value) for value in frame[name]] for name in things})


def _json(thing: object) -> str:
    return json.dumps(thing, ensure_ascii=False)


def write_parquet(journal: Journal, file: Path) -> None:
    """Write the runs as Parquet; pandas reads it back in the same dtypes. Raises `OSError`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pandas(plain(journal.frame), preserve_index=False)
    described = [
        field.with_metadata(
            {
                "unit": COLUMNS[field.name].unit,
                "definition": COLUMNS[field.name].definition,
                "better": COLUMNS[field.name].better,
            }
        )
        for field in table.schema
    ]
    metadata = {**table.schema.metadata, **about(journal)}
    pq.write_table(table.cast(pa.schema(described, metadata)), file)


def write_csv(journal: Journal, file: Path) -> None:
    """Write the runs as CSV, every number in full, times as ISO 8601 in UTC. Raises `OSError`."""
    plain(journal.frame).to_csv(
        file, index=False, date_format="%Y-%m-%dT%H:%M:%S.%fZ", lineterminator="\n"
    )


# ------------------------------------------------------------------------------------------ formats


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file: what it is called in a folder, what writes it, and whether it can be read on
    a terminal.
    """

    file_name: str
    write: Callable[[Journal, Path], object]
    is_text: bool = True


def _written(text: Callable[[Journal], str]) -> Callable[[Journal, Path], object]:
    return lambda journal, file: file.write_text(text(journal), encoding="utf-8")


FORMATS = {
    "parquet": Format("runs.parquet", write_parquet, is_text=False),
    "csv": Format("runs.csv", write_csv),
    "columns": Format("columns.md", _written(lambda _: f"{columns_markdown()}\n")),
    "pyperf": Format("pyperf.json", write_suite),
    "hdr": Format("latencies.zip", write_percentiles, is_text=False),
    "markdown": Format(
        "tables.md", _written(lambda journal: tables_markdown(StudyResults.of(journal)))
    ),
    "bencher": Format("bencher.json", _written(bencher)),
    "github-action-benchmark": Format(
        "bigger-is-better.json", _written(partial(github_action_benchmark, better="more"))
    ),
    "github-action-benchmark-smaller": Format(
        "smaller-is-better.json", _written(partial(github_action_benchmark, better="less"))
    ),
}


def export(
    results: Path, to: str, output: Path | None, console: Console, errors: Console | None = None
) -> Path | None:
    """Write the study in `results` in one of `FORMATS` to `output`, a file or a folder for it.

    Returns the file. Without `output` the text is printed on the `console`, notes about the journal
    on `errors`, and None returned.

    Raises:
        UsageError: no such format, one that is not text without an `output`, no journal that could
            be read, or `output` is a journal.
        ScalingError: the file cannot be written, or there is nothing to put into it.
    """
    if to not in FORMATS:
        raise unknown("format", to, FORMATS, where="--to")
    format_ = FORMATS[to]
    if output is None and not format_.is_text:
        raise UsageError(
            f"export: {to} is not text, and is not printed. Name a file: --output "
            f"{format_.file_name}"
        )
    journal = read(results, console if output else errors or console)
    if output is None:
        with TemporaryDirectory() as folder:
            text = Path(folder) / format_.file_name
            format_.write(journal, text)
            console.out(text.read_text(encoding="utf-8").rstrip("\n"), highlight=False)
        say_incomplete(journal, errors or console)
        return None
    file = output / format_.file_name if output.is_dir() else output
    write_file(file, partial(format_.write, journal), again="scaling export")
    say(console, f"written: {file}")
    say_incomplete(journal, console)
    return file
