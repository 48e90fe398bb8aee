"""Rows of published tables: texts and claims name the one that has their figure.

A published study has its tables as CSV files (`summary`, `comparison`, `losses`), and what is known
of the whole study in `environment.json`, a table of one row.
"""

import csv
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from scaling.base.errors import UsageError, unknown
from scaling.base.files import text_in
from scaling.base.formats import number, span
from tests.support.children import ROOT

PUBLISHED = ROOT / "results" / "published"
COMPARISON = "comparison"
CSV_TABLES = ("summary", COMPARISON, "losses")
ENVIRONMENT = "environment"
PARAMETERS = "parameters"
OF_AN_ESTIMATE = ("_low", "_high", "_n")

type Row = Mapping[str, object]


def studies_in(folder: Path) -> list[Path]:
    """The published studies in `folder` and below it, by name."""
    return sorted(file.parent for file in folder.rglob(f"{ENVIRONMENT}.json"))


@cache
def rows_of(folder: Path, table: str) -> Sequence[Row]:
    """The rows of a table of a published study; none where the study does not have the table.

    Values are texts, as in the file, and `parameters` a mapping.

    Raises:
        UsageError: no such kind of table, or a file that cannot be read.
    """
    if table == ENVIRONMENT:
        facts = json.loads(text_in(folder / f"{ENVIRONMENT}.json"))
        return [{**facts, "minutes": max(1, round(facts["minutes"]))}]
    if table not in CSV_TABLES:
        raise unknown("table", table, (*CSV_TABLES, ENVIRONMENT))
    file = folder / f"{table}.csv"
    if not file.exists():
        return []
    read = csv.DictReader(text_in(file).splitlines())
    return [{**row, PARAMETERS: json.loads(row[PARAMETERS])} for row in read]


# ------------------------------------------------------------------------------------------- select


def fitting(rows: Sequence[Row], wanted: Row) -> list[Row]:
    """The rows that have these values, one of each list; of `parameters` those that are named."""
    return [row for row in rows if not list(_differing(row, wanted))]


def select(rows: Sequence[Row], wanted: Row, where: str) -> Row:
    """The one row that has these values; `where` names the table in messages.

    Raises:
        UsageError: no row has them (the message says what the nearest has), or several do (it says
            in what these differ).
    """
    if not rows:
        raise UsageError(f"{where}: there is no such table")
    for name in wanted:
        if name not in rows[0]:
            raise unknown("column", name, rows[0], where=where)
    found = fitting(rows, wanted)
    if len(found) == 1:
        return found[0]
    if found:
        first = {name: value for name, value in found[0].items() if name in KEYS}
        tell = dict.fromkeys(name for row in found[1:] for name, _ in _differing(row, first))
        several = f"{where}: {len(found)} rows have {_text(wanted)}"
        raise UsageError(f"{several}; name {' or '.join(tell)}")
    nearest = min((dict(_differing(row, wanted)) for row in rows), key=len)
    raise UsageError(f"{where}: no row has {_text(wanted)}; the nearest has {_text(nearest)}")


CELL = ("workload", PARAMETERS, "sizing", "loop", "arm", "model", "workers")
KEYS = (*CELL, "question", "measure", "term", *(f"over_{name}" for name in CELL))


def _differing(row: Row, wanted: Row) -> Iterator[tuple[str, object]]:
    """What a row has in the place of what is wanted."""
    for name, value in wanted.items():
        has = row.get(name)
        if isinstance(value, Mapping) and isinstance(has, Mapping):
            yield from ((key, has.get(key)) for key in value if has.get(key) != value[key])
        elif str(has) not in (map(str, value) if isinstance(value, list) else [str(value)]):
            yield name, has


def _text(values: Row) -> str:
    """`arm=3.14t workers=2 tasks=1000`."""
    words = []
    for name, value in values.items():
        words.append(_text(value) if isinstance(value, Mapping) else f"{name}={value}")
    return " ".join(words)


# ------------------------------------------------------------------------------------------ figures


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a row: NaN where the row has none.

    `low` and `high` are its 95 % interval over `n` blocks, or the range of fewer than six.
    """

    point: float
    low: float
    high: float
    n: int

    def scaled(self, factor: float) -> "Figure":
        """The same in another unit; `factor` is positive."""
        return Figure(self.point * factor, self.low * factor, self.high * factor, self.n)

    def over(self, other: "Figure") -> "Figure":
        """The ratio of two figures above 0, with the bounds that those of both allow."""
        n = min(self.n, other.n)
        return Figure(self.point / other.point, self.low / other.high, self.high / other.low, n)

    def text(self, sign: str = "") -> str:
        """`1.94 (1.92–1.97)`, with a sign after each number but the lower bound; the point alone
        where there is nothing between the bounds.
        """
        point = f"{number(self.point)}{sign}"
        if self.n < 2 or self.low == self.high:
            return point
        return f"{point} ({span(number(self.low), number(self.high))}{sign})"


def figure_of(row: Row, column: str, where: str) -> Figure:
    """The figure in a column that has an interval beside it.

    Raises:
        UsageError: the table has no such column.
    """
    names = (column, *(f"{column}{end}" for end in OF_AN_ESTIMATE))
    for name in names:
        if name not in row:
            raise unknown("column", name, list(row), where=where)
    point, low, high, n = (_float(row[name]) for name in names)
    return Figure(point, low, high, 0 if math.isnan(n) else int(n))


def _float(text: object) -> float:
    return float(str(text)) if text not in ("", None) else math.nan
