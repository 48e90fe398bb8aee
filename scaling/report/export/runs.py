"""The frame for other programs: a row for each run, as Parquet or as CSV.

Both have the columns of `scaling.analysis.table.columns` in that order, and all runs, invalid ones
and duplicates included. Lists of words or sentences and the dict of a workload's own figures are
written as JSON. A Parquet file also has each column's unit, definition and whether more or less is
better, and the metadata of `about`; CSV has no place for them, but units are in the names.
"""

import json
from pathlib import Path

import pandas as pd

from scaling.analysis.table.column import OBJECT
from scaling.analysis.table.columns import COLUMNS
from scaling.analysis.table.load import Journal
from scaling.report.export.about import about


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
