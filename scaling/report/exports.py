"""Exports for other programs: runs as Parquet or CSV, figures as JSON for trend pages.

`csv` and `parquet` have a row for each run, invalid ones and duplicates included, with the columns
of `scaling.analysis.table.columns` in that order. Lists and dicts are written as JSON. Parquet also
has each column's unit, definition and whether more is better, and the metadata of `about`.

`bencher`: the Bencher Metric Format (https://bencher.dev/docs/reference/bencher-metric-format).
`github-action-benchmark`: a list for each of its tools `customBiggerIsBetter` and
`customSmallerIsBetter` (https://github.com/benchmark-action/github-action-benchmark). Both have
each cell as a benchmark, with medians over the blocks and the bounds that tables show: a 95 %
interval from six blocks on, the range of the runs below. Invalid runs are in none.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console

from scaling.analysis.column import OBJECT
from scaling.analysis.table.columns import COLUMNS
from scaling.analysis.tables.derived import SPEEDUP
from scaling.analysis.tables.study import Study
from scaling.base.console import say
from scaling.base.errors import UsageError, unknown
from scaling.base.formats import number, span
from scaling.journal.protected_write import write_file
from scaling.report.descriptions import about
from scaling.report.files import read
from scaling.study.presets import FEWEST_FOR_INTERVAL
from scaling.study.questions import CPU, MEMORY, P99, THROUGHPUT

type Write = Callable[[Study, Path], object]

# The measures on trend pages: their names there, whether more or less is better, the unit.
FOLLOWED = {
    THROUGHPUT: ("throughput", "more", "operations/s"),
    SPEEDUP: ("speedup", "more", "×"),
    CPU: ("cpu-time-per-operation", "less", "s"),
    MEMORY: ("memory", "less", "MiB"),
    P99: ("latency-p99", "less", "s"),
}


def export(results: Path, formats: Sequence[str], output: Path | None, console: Console) -> None:
    """Write a study in these `FORMATS` to the folder `output`, by default beside its journal.

    Raises:
        UsageError: an unknown format, no journal that could be read, no valid run for trends, or a
            folder that cannot be written.
        ScalingError: the disk is full or fails.
    """
    for name in formats:
        if name not in FORMATS:
            raise unknown("format", name, FORMATS, where="--to")
    study = read(results, console)
    assert study.path is not None
    folder = output or study.path.parent
    for name in formats:
        for file, write in FORMATS[name].items():
            write_file(folder / file, partial(write, study), again=f"scaling report --to {name}")
            say(console, f"written: {folder / file}")


# --------------------------------------------------------------------------------------------- runs


def plain(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with its objects as JSON text."""
    things = [name for name, column in COLUMNS.items() if column.dtype == OBJECT]
    return frame.assign(
        **{name: [json.dumps(each, ensure_ascii=False) for each in frame[name]] for name in things}
    )


def write_parquet(study: Study, file: Path) -> None:
    """Write the runs as Parquet; pandas reads it back in the same dtypes. Raises `OSError`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pandas(plain(study.runs), preserve_index=False)
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
    metadata = {**table.schema.metadata, **about(study)}
    pq.write_table(table.cast(pa.schema(described, metadata)), file)


def write_csv(study: Study, file: Path) -> None:
    """Write the runs as CSV, every number in full, times as ISO 8601 in UTC. Raises `OSError`."""
    plain(study.runs).to_csv(
        file, index=False, date_format="%Y-%m-%dT%H:%M:%S.%fZ", lineterminator="\n"
    )


# ------------------------------------------------------------------------------------------- trends


def write_bencher(study: Study, file: Path) -> None:
    """Write all figures as one JSON object: cell → figure → value and its bounds.

    Raises `UsageError` without a valid run, `OSError`.
    """
    found: dict[str, dict[str, Any]] = {}
    for row in trends(study).to_dict("records"):
        metric = {"value": row["point"], "lower_value": row["low"], "upper_value": row["high"]}
        found.setdefault(row["cell"], {})[row["figure"]] = metric
    _write_json(found, file)


def write_benchmark_list(study: Study, file: Path, better: str) -> None:
    """Write figures as a JSON list; a tool takes either those where more is better, or less.

    Raises `UsageError` without a valid run, `OSError`.
    """
    rows = trends(study)
    found = [
        {
            "name": f"{row['cell']}: {row['figure']}",
            "unit": row["unit"],
            "value": row["point"],
            "range": span(number(row["low"]), number(row["high"])) if row["n"] > 1 else "",
            "extra": _made_of(row["n"]),
        }
        for row in rows[rows["better"] == better].to_dict("records")
    ]
    _write_json(found, file)


def trends(study: Study) -> pd.DataFrame:
    """The rows of `estimates` on trend pages: with `cell` and `figure` as named there, `better`,
    `unit`.

    Raises:
        UsageError: no run is valid.
    """
    rows = study.estimates.query("measure in @FOLLOWED and not twin and not rated")
    at_a_rate = (rows["measure"] == THROUGHPUT) & (rows["rate"] > 0)
    rows = rows[~at_a_rate & ~((rows["measure"] == SPEEDUP) & (rows["workers"] == 1))]
    if rows.empty:
        raise UsageError(f"{study.path} has no valid run, and so no figure to export")
    figure, better, unit = zip(*(FOLLOWED[str(each)] for each in rows["measure"]), strict=True)
    cell = [_label(row) for row in rows.to_dict("records")]
    return rows.assign(cell=cell, figure=figure, better=better, unit=unit)


def _label(row: Mapping[Any, Any]) -> str:
    """`echo weak uvloop 3.14t threads N=2`."""
    name = str(row["name"]).replace(" · ", " ").removesuffix(" strong")
    words = (name, row["sizing"], row["loop"], row["arm"], row["model"])
    return f"{' '.join(map(str, words))} N={row['workers']}"


def _made_of(n: int) -> str:
    """`95 % interval over 8 blocks`, `range of 3 runs`, `1 run`."""
    if n < FEWEST_FOR_INTERVAL:
        return f"range of {n} runs" if n > 1 else "1 run"
    return f"95 % interval over {n} blocks"


def _write_json(value: object, file: Path) -> None:
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    file.write_text(f"{text}\n", encoding="utf-8")


# The files of each format.
FORMATS: Mapping[str, Mapping[str, Write]] = {
    "csv": {"runs.csv": write_csv},
    "parquet": {"runs.parquet": write_parquet},
    "bencher": {"bencher.json": write_bencher},
    "github-action-benchmark": {
        "bigger-is-better.json": partial(write_benchmark_list, better="more"),
        "smaller-is-better.json": partial(write_benchmark_list, better="less"),
    },
}
