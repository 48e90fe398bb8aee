"""Declarations of tables: a selection of rows, and the columns that show them.

A `Table` selects rows of `estimates` or `ratios`; `grid` turns it into texts, which the renderers
show. To add a table, declare it in `scaling.report.view.tables`. A note is a function of the study
that returns a sentence, or an empty text where there is nothing to say.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

import pandas as pd

from scaling.analysis.column import Shown
from scaling.analysis.tables.cells import names
from scaling.analysis.tables.words import OPEN, SAME, side_of
from scaling.base.formats import BLANK, number, percent, span
from scaling.report.render.grid import Grid, Heading, Text, Tone
from scaling.study.questions import CPU, MEMORY, P99, THROUGHPUT

MEASURES = {THROUGHPUT: "throughput", CPU: "CPU time", MEMORY: "memory", P99: "P99"}

type Source = Literal["estimates", "ratios"] | Callable[[Any], pd.DataFrame]
type Row = Mapping[Any, Any]
type Line = Sequence[Row]  # the rows that one line of a table shows
type Value = float | int | str | None
MARKS = {1: "≥ ", -1: "< "}  # before a median that is a bound
TIMES = "×"


class Tables(Protocol):
    """The source of a declared table: a study."""

    @property
    def estimates(self) -> pd.DataFrame:
        """A row per cell and measure."""

    @property
    def ratios(self) -> pd.DataFrame:
        """A row per question, measure and pair."""

    def estimate(self, cell: int, measure: str) -> Row | None:
        """The row of `estimates` of a cell, by its place."""

    def shown(self, measure: str) -> Shown:
        """The heading, name and unit of a measure."""


type Note = Callable[[Any], str]


class Remark(NamedTuple):
    """A note in a list of notes; `brief` ones are in the answer of a terminal, too."""

    note: Note
    brief: bool = True


# ----------------------------------------------------------------------------------------- columns


@dataclass(frozen=True)
class Column:
    """A column of a table: its heading, and what it shows of the rows of a line."""

    heading: Heading

    def of(self, line: Line, tables: Tables) -> Text | None:
        """The text for the rows of one line; None for none."""
        raise NotImplementedError

    def value(self, line: Line, tables: Tables) -> dict[str, Value] | None:
        """The same for programs; None where another column has it."""
        return None


def tone(word: str) -> Tone:
    """Whether a word is good news, bad news, or leaves something open."""
    side = side_of(word)
    if side > 0 or word == SAME:
        return "good"
    return "bad" if side < 0 else "open" if word == OPEN else ""


def figure(row: Row, point: str, factor: float = 1.0, *, interval: bool = True) -> Text:
    """A median with its interval; that of a ratio ends in ×."""
    times = TIMES if point == "ratio" else ""
    value, low, high = (factor * row[name] for name in (point, "low", "high"))
    bounds = span(number(low), number(high)) if interval and row["n"] > 1 and low != high else ""
    return Text(f"{MARKS.get(row.get('bound', 0), '')}{number(value)}{times}", bounds)


def _selected(line: Line, measure: str, question: str) -> Row | None:
    for row in line:
        if measure in ("", row.get("measure")) and question in ("", row.get("question")):
            return row
    return None


@dataclass(frozen=True)
class Ratio(Column):
    """The ratio of a measure that answers a question; where none is named, that of the line."""

    measure: str = ""
    question: str = ""
    interval: bool = True

    def of(self, line: Line, tables: Tables) -> Text | None:
        """The ratio with its interval."""
        row = _selected(line, self.measure, self.question)
        return figure(row, "ratio", interval=self.interval) if row else None

    def value(self, line: Line, tables: Tables) -> dict[str, Value] | None:
        """The ratio with its interval, its word and its bound."""
        row = _selected(line, self.measure, self.question)
        if row is None:
            return None
        figures = {name: row[name] for name in ("ratio", "low", "high", "n", "word")}
        about = {"at_most_percent": row["at_most_percent"], "why": row["why"]}
        return {**figures, **about, **{name: row[name] for name in OVER}}


OVER = ("over_arm", "over_model", "over_workers")


@dataclass(frozen=True)
class Words(Ratio):
    """The word of a ratio with its figures; programs have it beside the ratio."""

    def of(self, line: Line, tables: Tables) -> Text | None:
        """The words of the line's ratio."""
        row = _selected(line, self.measure, self.question)
        return Text(str(row["said"]), tone=tone(str(row["word"]))) if row else None

    def value(self, line: Line, tables: Tables) -> None:
        """None."""


@dataclass(frozen=True)
class Figure(Column):
    """The estimate of a measure.

    In a table of ratios it is that of the cell `of` or `over` of the ratio that answers a question.
    """

    measure: str
    end: Literal["", "of", "over"] = ""
    question: str = ""
    of_measure: str = ""
    interval: bool = True

    def _row(self, line: Line, tables: Tables) -> Row | None:
        if not self.end:
            return _selected(line, self.measure, "")
        ratio = _selected(line, self.of_measure, self.question)
        return tables.estimate(ratio[self.end], self.measure) if ratio else None

    def of(self, line: Line, tables: Tables) -> Text | None:
        """The median with its interval, in the unit in which it is shown."""
        row = self._row(line, tables)
        factor = tables.shown(self.measure).factor
        return figure(row, "point", factor, interval=self.interval) if row else None

    def value(self, line: Line, tables: Tables) -> dict[str, Value] | None:
        """The same for programs, under its name in CSV files."""
        row, shown = self._row(line, tables), tables.shown(self.measure)
        if row is None:
            return None
        figures = {name: shown.factor * row[name] for name in ("point", "low", "high")}
        return {"measure": shown.name, **figures, "n": row["n"], "bound": row["bound"]}


@dataclass(frozen=True)
class Field(Column):
    """A column of the rows themselves, as it is; `tones` are those of some of its values."""

    column: str
    tones: Mapping[str, Tone] = field(default_factory=dict)

    def of(self, line: Line, tables: Tables) -> Text | None:
        """The value of the first row."""
        value = plain(line[0][self.column])
        if value in ("", None):
            return None
        text = f"{value:,.12g}" if isinstance(value, int | float) else str(value)
        return Text(text, tone=self.tones.get(text, ""))

    def value(self, line: Line, tables: Tables) -> dict[str, Value] | None:
        """The same for programs."""
        return {self.column: plain(line[0][self.column])}


@dataclass(frozen=True)
class Share(Field):
    """A column of the rows themselves, in per cent."""

    def of(self, line: Line, tables: Tables) -> Text | None:
        """The value of the first row."""
        value = line[0][self.column]
        return None if math.isnan(value) else Text(percent(round(value, 2)))


OF_PEAK = Share(Heading("of the peak"), "of_peak")  # beside a P99: how loaded the servers were


def plain(value: Any) -> Value:
    """A value as JSON has it; None where it is missing."""
    if pd.isna(value):
        return None
    found: Value = value.item() if hasattr(value, "item") else value
    return found


def plain_records(found: pd.DataFrame) -> list[dict[str, Value]]:
    """The rows of a table as JSON has them."""
    rows = found.to_dict("records")
    return [{str(name): plain(value) for name, value in row.items()} for row in rows]


# ------------------------------------------------------------------------------------------- tables


@dataclass(frozen=True)
class Table:
    """A selection of rows: those of `source` for which `where` holds (pandas' `query`).

    A source is a table of the study, or a function of the study that returns one; where there is
    none, rows are given. A line is what has the same values in the columns of `rows`, by heading.
    Those that differ among the lines name a line, the others stand in the title. `columns` are
    shown as far as any line has a value; with none, there is one for each measure of `estimates`.
    There is a grid for each value of `each`, and at most `most` lines. What is `wide` has more
    columns than a terminal.
    """

    title: str
    source: Source | None = None
    rows: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    columns: tuple[Column, ...] = ()
    where: str = ""
    each: str = ""
    most: int = 1_000
    notes: tuple[Note, ...] = ()
    wide: bool = False

    def selected(self, tables: Tables) -> pd.DataFrame:
        """The rows that it is of."""
        source = self.source
        found = source(tables) if callable(source) else getattr(tables, source or "")
        return found.query(self.where) if self.where and len(found) else found

    def grids(self, tables: Tables, given: pd.DataFrame | None = None) -> Iterator[Grid]:
        """The table, one for each value of `each`; none where nothing is selected or `given`."""
        found = self.selected(tables) if given is None else given
        parts = found.groupby(self.each, sort=False) if self.each else [("", found)]
        for value, part in parts:
            if len(part):
                title = ": ".join(filter(None, (self.title, str(value))))
                if (grid := self._grid(tables, part, title)) is not None:
                    yield grid

    def records(self, tables: Tables) -> list[dict[str, Any]]:
        """A record for each line: the values of `rows`, and of each column by its heading's key."""
        found = self.selected(tables)
        columns = list(self._columns(found, tables)) if len(found) else []
        records = []
        for line in self._lines(found):
            record: dict[str, Any] = {name: plain(line[0][name]) for name in self._keys}
            for column in columns:
                value = column.value(line, tables)
                if value is not None:
                    record[column.heading.key] = {k: plain(v) for k, v in value.items()}
            records.append(record)
        return records

    @property
    def _keys(self) -> list[str]:
        return [name for some in self.rows.values() for name in some]

    def _lines(self, found: pd.DataFrame) -> list[Line]:
        """The rows of each line, in the order of the first ones."""
        if found.empty:
            return []
        place = found.groupby(self._keys, sort=False, observed=True, dropna=False).ngroup()
        lines: list[list[Row]] = [[] for _ in range(place.max() + 1)]
        for at, row in zip(place, found.to_dict("records"), strict=True):
            lines[at].append(row)
        return list(lines)

    def _columns(self, found: pd.DataFrame, tables: Tables) -> Iterable[Column]:
        if self.columns:
            return self.columns
        measures = found["measure"].drop_duplicates().tolist()
        ranked = sorted(measures, key=lambda name: tables.shown(name).place)
        return [Figure(Heading(tables.shown(name).heading), name) for name in ranked]

    def _grid(self, tables: Tables, found: pd.DataFrame, title: str) -> Grid | None:
        """The lines of some rows as texts; None where no column has a value."""
        if "name" in self._keys and "parameters" in found:
            found = found.assign(name=names(found))
        lines = self._lines(found)
        named, about = self._named(lines)
        columns = list(self._columns(found, tables))
        texts = [[column.of(line, tables) for line in lines] for column in columns]
        known = [place for place, column in enumerate(texts) if any(column)]
        if not known:
            return None
        rows = [
            [
                *(Text(texts[at]) for texts in named.values()),
                *(texts[place][at] or Text(BLANK) for place in known),
            ]
            for at in range(min(len(lines), self.most))
        ]
        headings = [Heading(text, left=True, wrap=True) for text in named]
        headings += [columns[place].heading for place in known]
        title = ": ".join(filter(None, (title, about))) if not self.each else title
        notes = [text for note in self.notes if (text := note(tables))]
        return Grid(title, headings, rows, notes, max(0, len(lines) - self.most))

    def _named(self, lines: Sequence[Line]) -> tuple[dict[str, list[str]], str]:
        """The names of the lines by heading, and what all lines share, which the title has."""
        named: dict[str, list[str]] = {}
        about: list[str] = []
        for heading, keys in self.rows.items():
            parts = [parts_of(line[0], keys) for line in lines]
            shared = [each for each in parts[0] if all(each in others for others in parts)]
            if len(lines) == 1 and not named:
                shared = shared[1:]  # a single line is named, too
            if shared:
                text = SEPARATOR.join(shared)
                about.append(text if heading in ("", "N") else f"{heading} {text}")
            if any(len(each) > len(shared) for each in parts):
                own = [[each for each in some if each not in shared] for some in parts]
                named[heading] = [SEPARATOR.join(each) for each in own]
        return named, SEPARATOR.join(about)


SEPARATOR = " · "


def parts_of(row: "Row | pd.Series[Any]", columns: Iterable[str]) -> list[str]:
    """`echo`, `asyncio`, `3.14t`, `threads`, `N = 2`; a name has several parts."""
    texts = (
        f"N = {row[name]}" if name.endswith("workers") else MEASURES.get(row[name], str(row[name]))
        for name in columns
        if str(row[name])
    )
    return [part for text in texts for part in text.split(SEPARATOR)]
