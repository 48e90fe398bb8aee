"""Rows of published tables: texts and claims name the one that has their figure.

A published study has its tables as CSV files (`summary`, `comparison`, `losses`), and what is known
of the whole study in `environment.json`, a table of one row.
"""

import csv
import json
import math
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pandas as pd

from scaling.analysis.arrays import Flags
from scaling.base.errors import UsageError, unknown
from scaling.base.files import text_in
from scaling.base.formats import number, span
from scaling.report.index import environment_of, ratios, studies
from tests.support.children import ROOT

PUBLISHED = ROOT / "results" / "published"
COMPARISON = "comparison"
CSV_TABLES = ("summary", COMPARISON, "losses")
ENVIRONMENT = "environment"
PARAMETERS = "parameters"
CELL = ("workload", "sizing", "loop", "arm", "model", "workers")
KEYS = (*CELL, "question", "measure", "term", *(f"over_{name}" for name in CELL))

type Row = Mapping[str, Any]


def toml[T](file: Path, kind: type[T]) -> T:
    """A TOML file as this type. Raises `UsageError` where it cannot be read as one."""
    try:
        return msgspec.toml.decode(text_in(file), type=kind)
    except msgspec.DecodeError as error:
        raise UsageError(f"{file.name}: {error}") from None


@cache
def table_of(folder: Path, table: str) -> pd.DataFrame:
    """The rows of a table of each published study in `folder` and below; `folder` names the study.

    Values of CSV files are texts, as there; each parameter has a column, `parameters.tasks`.

    Raises:
        UsageError: no such kind of table, or a file that cannot be read.
    """
    if table not in (*CSV_TABLES, ENVIRONMENT):
        raise unknown("table", table, (*CSV_TABLES, ENVIRONMENT))
    studies = sorted(file.parent for file in folder.rglob(f"{ENVIRONMENT}.json"))
    if table == ENVIRONMENT:
        return pd.DataFrame([_environment(study) for study in studies], dtype=object)
    rows = [row for study in studies for row in _rows(study / f"{table}.csv")]
    return pd.DataFrame(rows, columns=None if rows else ["folder"], dtype=object)


@cache
def indexed(published: Path) -> pd.DataFrame:
    """The ratios that the index page of the studies in `published`/MACHINE/STUDY has."""
    return ratios(studies(published))


def _environment(study: Path) -> Row:
    facts = environment_of(study)
    return {**facts, "folder": study.name, "minutes": max(1, round(facts["minutes"]))}


def _rows(file: Path) -> Iterator[Row]:
    if file.exists():
        for row in csv.DictReader(text_in(file).splitlines()):
            parameters = json.loads(row.pop(PARAMETERS))
            yield {**row, "folder": file.parent.name, **_flat({PARAMETERS: parameters})}


def _flat(row: Row) -> dict[str, str | list[str]]:
    """The values as texts, those of a mapping by themselves."""
    found: dict[str, str | list[str]] = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            found |= {f"{name}.{key}": str(each) for key, each in value.items()}
        else:
            found[name] = [*map(str, value)] if isinstance(value, list) else str(value)
    return found


def fitting(table: pd.DataFrame, wanted: Row) -> pd.DataFrame:
    """The rows that have these values, one of each list; of `parameters` those that are named."""
    lacks = np.zeros(len(table), np.bool_)
    for each in _lacks(table, wanted).values():
        lacks |= each
    return table[~lacks]


def _lacks(table: pd.DataFrame, wanted: Row) -> dict[str, Flags]:
    """Which rows do not have each of the values, shape (rows,)."""
    return {
        name: ~table[name].isin([value] if isinstance(value, str) else value).to_numpy()
        if name in table
        else np.ones(len(table), np.bool_)
        for name, value in _flat(wanted).items()
    }


def select(table: pd.DataFrame, wanted: Row, where: str) -> dict[str, Any]:
    """The one row that has these values; `where` names the table in messages.

    Raises:
        UsageError: no row has them (the message says what the nearest has), or several do (it says
            in what these differ).
    """
    if table.empty:
        raise UsageError(f"{where}: there is no such table")
    for name in wanted.keys() - {*table, PARAMETERS}:
        raise unknown("column", name, map(str, table), where=where)
    found = fitting(table, wanted)
    if len(found) == 1:
        return {str(name): value for name, value in found.iloc[0].dropna().items()}
    if len(found):
        names = [name for name in map(str, found) if name in KEYS or name.startswith(PARAMETERS)]
        tell = [name.rpartition(".")[2] for name in names if found[name].nunique(dropna=False) > 1]
        raise UsageError(
            f"{where}: {len(found)} rows have {_text(_flat(wanted))}; name {' or '.join(tell)}"
        )
    lacks = _lacks(table, wanted)
    nearest = np.sum([*lacks.values()], axis=0).argmin()
    has = {name: table.iloc[nearest][name] for name, lack in lacks.items() if lack[nearest]}
    raise UsageError(f"{where}: no row has {_text(_flat(wanted))}; the nearest has {_text(has)}")


def _text(values: Row) -> str:
    """`arm=3.14t workers=2 tasks=1000`."""
    return " ".join(f"{name.rpartition('.')[2]}={value}" for name, value in values.items())


class Figure(NamedTuple):
    """A figure of a row, with its 95 % interval over `n` blocks, or the range of fewer than six."""

    point: float
    low: float
    high: float
    n: int

    def over(self, other: "Figure") -> "Figure":
        """The ratio of two figures above 0, with the bounds that those of both allow."""
        n = min(self.n, other.n)
        return Figure(self.point / other.point, self.low / other.high, self.high / other.low, n)

    def text(self, sign: str = "", scale: float = 1.0) -> str:
        """`1.94 (1.92–1.97)`, with a sign after each number but the lower bound; the point alone
        where there is nothing between the bounds.
        """
        point, low, high = (number(each * scale) for each in self[:3])
        if self.n < 2 or self.low == self.high:
            return f"{point}{sign}"
        return f"{point}{sign} ({span(low, high)}{sign})"


def figure_of(row: Row, column: str, where: str) -> Figure:
    """The figure in a column that has an interval beside it; NaN where the row has none.

    Raises:
        UsageError: the table has no such column.
    """
    names = (column, f"{column}_low", f"{column}_high")
    for name in names:
        if name not in row:
            raise unknown("column", name, list(row), where=where)
    point, low, high = (float(row[name] or math.nan) for name in names)
    return Figure(point, low, high, int(float(row[f"{column}_n"] or 0)))
