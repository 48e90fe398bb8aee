"""A study for other programs: its runs as Parquet or CSV, its figures as JSON for trend pages.

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
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pandas as pd
from rich.console import Console

from scaling.analysis.curves import Point
from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.estimate import Estimate, bounds_kind
from scaling.analysis.table.column import OBJECT
from scaling.analysis.table.columns import COLUMNS, MEASURES
from scaling.analysis.table.groups import labels
from scaling.analysis.table.load import Journal
from scaling.base.console import say
from scaling.base.errors import UsageError, unknown
from scaling.journal.protected_write import write_file
from scaling.journal.record import Cell
from scaling.report.files import read
from scaling.report.tables.notes import about
from scaling.study.load import open_loop_rate

type Better = Literal["more", "less"]
type Write = Callable[[Journal, Path], object]

# The measures on trend pages, by the name shown there; the attribute of a point that has each.
FOLLOWED = {
    "throughput": "throughput_per_s",
    "speedup": "speedup",
    "cpu-time-per-operation": "cpu_s_per_op",
    "memory": "memory",
    "latency-p99": "latency_p99_s",
}
BETTER: dict[str, Better] = {"speedup": "more", "memory": "less"}  # measures that are no column


def export(results: Path, formats: Sequence[str], output: Path | None, console: Console) -> None:
    """Write a study in these `FORMATS` to the folder `output`, by default beside its journal.

    Raises:
        UsageError: an unknown format, no journal that could be read, no valid run to make trends
            of, or a place that cannot be written.
        ScalingError: the disk is full or fails.
    """
    for name in formats:
        if name not in FORMATS:
            raise unknown("format", name, FORMATS, where="--to")
    journal = read(results, console)
    folder = output or journal.path.parent
    for name in formats:
        for file, write in FORMATS[name].items():
            write_file(folder / file, partial(write, journal), again=f"scaling report --to {name}")
            say(console, f"written: {folder / file}")


# --------------------------------------------------------------------------------------------- runs


def plain(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with its objects as JSON text."""
    things = [name for name, column in COLUMNS.items() if column.dtype == OBJECT]
    return frame.assign(
        **{name: [json.dumps(each, ensure_ascii=False) for each in frame[name]] for name in things}
    )


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


# ------------------------------------------------------------------------------------------- trends


class Trend(NamedTuple):
    """One figure of one cell."""

    cell: str
    name: str
    better: Better
    estimate: Estimate


def write_bencher(journal: Journal, file: Path) -> None:
    """Write all figures as one JSON object: cell → figure → value and its bounds.

    Raises `UsageError` without a valid run, `OSError`.
    """
    found: dict[str, dict[str, Any]] = {}
    for each in trends(journal):
        value = each.estimate
        metric = {"value": value.point, "lower_value": value.low, "upper_value": value.high}
        found.setdefault(each.cell, {})[each.name] = metric
    _write_json(found, file)


def write_benchmark_list(journal: Journal, file: Path, better: Better) -> None:
    """Write the figures of which more, or less, is better as a JSON list: a tool takes one kind.

    Raises `UsageError` without a valid run, `OSError`.
    """
    found = [
        {
            "name": f"{each.cell}: {each.name}",
            "unit": each.estimate.unit,
            "value": each.estimate.point,
            "range": each.estimate.bounds,
            "extra": bounds_kind([each.estimate]) or "1 run",
        }
        for each in trends(journal)
        if each.better == better
    ]
    _write_json(found, file)


def trends(journal: Journal) -> list[Trend]:
    """Every followed figure of every cell that has it.

    Raises:
        UsageError: no run is valid.
    """
    names = labels(journal.frame)
    found = [
        each
        for section in StudyResults.of(journal).sections
        for curve in section.curves
        for point in curve.points
        for each in _of_point(names[curve.key.workload, curve.key.parameters], curve.key, point)
    ]
    if not found:
        raise UsageError(f"{journal.path}: holds no valid run, and so no figure to follow")
    return found


def _of_point(label: str, key: Cell, point: Point) -> Iterator[Trend]:
    words = (label.replace(" · ", " "), key.sizing, key.loop, key.arm, key.model)
    cell = f"{' '.join(words)} N={point.workers}"
    is_scheduled = open_loop_rate(key.parameters) is not None
    for name, measure in FOLLOWED.items():
        says_nothing = {"throughput_per_s": is_scheduled, "speedup": point.workers == 1}
        estimate = point.estimate(measure)
        if estimate.n and not says_nothing.get(measure):
            better = BETTER.get(measure) or MEASURES[measure].better or "more"
            yield Trend(cell, name, better, estimate)


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
