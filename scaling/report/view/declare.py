"""The declaration of a table: a selection of rows, and the columns that show them.

A `Table` selects rows of `estimates` or `ratios`; `grids` turns them into texts, which the
renderers show. To add a table, declare it in `scaling.report.view.tables`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import pandas as pd

from scaling.analysis.tables.cells import names
from scaling.analysis.tables.study import Study
from scaling.analysis.tables.words import OPEN, SAME, side_of
from scaling.base.formats import BLANK, number, percent, span
from scaling.report.render.grid import Grid, Heading, Text, Tone
from scaling.study.questions import CPU, MEMORY, P99, THROUGHPUT

MEASURES = {THROUGHPUT: "throughput", CPU: "CPU time", MEMORY: "memory", P99: "P99"}

type Source = Literal["estimates", "ratios", ""] | Callable[[Study], pd.DataFrame]
type Row = Mapping[Any, Any]
type Line = Sequence[Row]  # the rows that one line of a table shows
type Filled = tuple[Heading, list[Text | None]]  # a column, with a text for each line
type Note = Callable[[Study], str]  # a sentence, or an empty text
MARKS = {1: "≥ ", -1: "< "}  # before a median that is a bound
SEPARATOR = " · "
MOST = 1_000  # lines of a table
OF_RATIO, OF_WORDS = Heading("ratio"), Heading("", left=True, wrap=True)
RECORDED = (  # of a ratio, for programs
    *("ratio", "low", "high", "n", "word", "at_most_percent", "why"),
    *("over_arm", "over_model", "over_workers"),
)


class Remark(NamedTuple):
    """A note in a list of notes; `brief` ones are in the answer of a terminal, too."""

    note: Note
    brief: bool = True


# ----------------------------------------------------------------------------------------- columns


class Column(NamedTuple):
    """A column of a table.

    `row` selects the row that the column shows of a line, or None. `text` is the text of that row,
    `value` its value in JSON, or None if another column has it.
    """

    heading: Heading
    row: Callable[[Line, Study], Row | None]
    text: Callable[[Row, Study], Text | None]
    value: Callable[[Row, Study], dict[str, Any] | None]
    measure: str = ""

    def of(self, line: Line, study: Study) -> Text | None:
        """The text for a line, or None."""
        row = self.row(line, study)
        return self.text(row, study) if row else None


def tone(word: str) -> Tone:
    """The tone of a word: good, bad or open."""
    side = side_of(word)
    if side > 0 or word == SAME:
        return "good"
    return "bad" if side < 0 else "open" if word == OPEN else ""


def interval_text(row: Row, point: str, factor: float = 1.0, *, interval: bool = True) -> Text:
    """A median with its interval; a ratio ends in ×."""
    times = "×" if point == "ratio" else ""
    value, low, high = (factor * row[name] for name in (point, "low", "high"))
    bounds = span(number(low), number(high)) if interval and row["n"] > 1 and low != high else ""
    return Text(f"{MARKS.get(row.get('bound', 0), '')}{number(value)}{times}", bounds)


def _selected(line: Line, measure: str, question: str) -> Row | None:
    for row in line:
        if measure in ("", row.get("measure")) and question in ("", row.get("question")):
            return row
    return None


def ratio(
    heading: Heading = OF_RATIO, measure: str = "", question: str = "", *, interval: bool = True
) -> Column:
    """The ratio of a measure that answers a question; by default the ratio of the line."""
    return Column(
        heading,
        lambda line, _: _selected(line, measure, question),
        lambda row, _: interval_text(row, "ratio", interval=interval),
        lambda row, _: {name: row[name] for name in RECORDED},
    )


def words(heading: Heading = OF_WORDS, measure: str = "", question: str = "") -> Column:
    """The word of a ratio with its figures; in JSON the word is in the column of the ratio."""
    return Column(
        heading,
        lambda line, _: _selected(line, measure, question),
        lambda row, _: Text(str(row["said"]), tone=tone(str(row["word"]))),
        lambda *_: None,
    )


RATIO = (ratio(), words())  # of the line


def figure(
    heading: Heading,
    measure: str,
    end: Literal["", "of", "over"] = "",
    question: str = "",
    of_measure: str = "",
    *,
    interval: bool = True,
) -> Column:
    """The estimate of a measure, in the unit in which it is shown.

    In a table of ratios it is the estimate of one `end` of the ratio of `of_measure` that answers a
    question.
    """

    def row_of(line: Line, study: Study) -> Row | None:
        if not end:
            return _selected(line, measure, "")
        found = _selected(line, of_measure, question)
        return study.estimate(found[end], measure) if found else None

    def text(row: Row, study: Study) -> Text:
        return interval_text(row, "point", study.shown(measure).factor, interval=interval)

    def value(row: Row, study: Study) -> dict[str, Any]:
        shown = study.shown(measure)
        figures = {name: shown.factor * row[name] for name in ("point", "low", "high")}
        return {"measure": shown.name, **figures, "n": row["n"], "bound": row["bound"]}

    return Column(heading, row_of, text, value, measure)


def _as_it_is(value: object) -> str:
    return f"{value:,.12g}" if isinstance(value, int | float) else str(value)


def fact(
    heading: Heading,
    column: str,
    tones: Mapping[str, Tone] | None = None,
    said: Callable[[Any], str] = _as_it_is,
) -> Column:
    """A column of the table itself, from the first row of a line; `tones` has tones of texts."""

    def text(row: Row, _: Study) -> Text | None:
        value = row[column]
        if str(value) == "" or pd.isna(value):
            return None
        return Text(said(value), tone=(tones or {}).get(said(value), ""))

    return Column(heading, lambda line, _: line[0], text, lambda row, _: {column: row[column]})


# Beside a P99: how loaded the servers were.
OF_PEAK = fact(Heading("of the peak"), "of_peak", said=lambda share: percent(round(share, 2)))


def plain(record: Row) -> dict[str, Any]:
    """A record for JSON: missing values are None."""
    found = pd.Series(dict(record), dtype=object)
    return {str(name): value for name, value in found.where(found.notna(), None).items()}


# ------------------------------------------------------------------------------------------- tables


@dataclass(frozen=True)
class Table:
    """A selection of rows: those of `source` for which `where` holds (pandas' `query`).

    A source is a table of the study, or a function of the study that returns one; without a source,
    rows are given. Rows with the same values in the columns of `rows` (by heading) are a line.
    Values that differ among the lines name a line, the others are in the title. A column of
    `columns` is shown if any line has a value; without `columns` there is one for each measure of
    `estimates`. There is a grid for each value of `each`. A `wide` table has too many columns for a
    terminal. The name of a line links to the address in the column `link`.
    """

    title: str
    source: Source = ""
    rows: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    columns: tuple[Column, ...] = ()
    where: str = ""
    each: str = ""
    notes: tuple[Note, ...] = ()
    wide: bool = False
    link: str = ""

    def selected(self, study: Study) -> pd.DataFrame:
        """The rows of the table."""
        source = self.source
        found: pd.DataFrame = source(study) if callable(source) else getattr(study, source)
        return found.query(self.where) if self.where and len(found) else found

    def grids(self, study: Any, given: pd.DataFrame | None = None) -> Iterator[Grid]:
        """The grids of the table; none if there are no rows.

        A study is not needed if all columns are facts or ratios of `given` rows.
        """
        found = self.selected(study) if given is None else given
        parts = found.groupby(self.each, sort=False) if self.each else [("", found)]
        for value, part in parts:
            if len(part):
                title = ": ".join(filter(None, (self.title, str(value))))
                yield from self._grid(study, part, title)

    def records(self, study: Study) -> list[dict[str, Any]]:
        """A record for each line: the values of `rows`, and of each column by its heading's key."""
        found = self.selected(study)
        records = []
        for line in self._lines(found):
            record: dict[str, Any] = plain({name: line[0][name] for name in self._keys})
            for column in self._columns(found, study):
                row = column.row(line, study)
                if row and (value := column.value(row, study)) is not None:
                    record[column.heading.key] = plain(value)
            records.append(record)
        return records

    @property
    def _keys(self) -> list[str]:
        return [name for some in self.rows.values() for name in some]

    def _lines(self, found: pd.DataFrame) -> list[Line]:
        """The rows of each line, in the order of the first ones."""
        lines: dict[int, list[Row]] = {}
        if len(found):
            places = found.groupby(self._keys, sort=False, observed=True, dropna=False).ngroup()
            for place, row in zip(places, found.to_dict("records"), strict=True):
                lines.setdefault(place, []).append(row)
        return list(lines.values())

    def _columns(self, found: pd.DataFrame, study: Study) -> Iterable[Column]:
        if self.columns:
            return self.columns
        measures = found["measure"].drop_duplicates().tolist()
        ranked = sorted(measures, key=lambda name: study.shown(name).place)
        return [figure(Heading(study.shown(name).heading), name) for name in ranked]

    def _grid(self, study: Study, found: pd.DataFrame, title: str) -> Iterator[Grid]:
        """The grid of some rows; none if no column has a value."""
        if "name" in self._keys and "parameters" in found:
            found = found.assign(name=names(found))
        lines = self._lines(found)
        columns: list[Filled] = [
            (column.heading, shown)
            for column in self._columns(found, study)
            if any(shown := [column.of(line, study) for line in lines])
        ]
        if not columns:
            return
        own, about = self._named(lines)
        headings, texts = zip(*own, *columns, strict=True)
        rows = [[text or Text(BLANK) for text in line] for line in zip(*texts, strict=True)]
        if self.link:
            for row, line in zip(rows, lines, strict=True):
                row[0] = replace(row[0], link=line[0][self.link])
        title = ": ".join(filter(None, (title, about))) if not self.each else title
        notes = [text for note in self.notes if (text := note(study))]
        yield Grid(title, list(headings), rows[:MOST], notes, max(0, len(rows) - MOST))

    def _named(self, lines: Sequence[Line]) -> tuple[list[Filled], str]:
        """The columns that name the lines, and for the title what all lines share."""
        found: list[Filled] = []
        about: list[str] = []
        for heading, keys in self.rows.items():
            own, shared = named([line[0] for line in lines], keys, alone=not found)
            if any(own):
                found.append((Heading(heading, left=True, wrap=True), [*map(Text, own)]))
            if shared:
                text = SEPARATOR.join(shared)
                about.append(text if heading in ("", "N") else f"{heading} {text}")
        return found, SEPARATOR.join(about)


def named(
    rows: Sequence[Row], keys: Sequence[str], *, alone: bool = True
) -> tuple[list[str], list[str]]:
    """A name for each row, of the parts that not all rows share; and the shared parts.

    A single row has its first part as its name if the name is the only one (`alone`).
    """
    parts = [parts_of(row, keys) for row in rows]
    shared = [each for each in parts[0] if all(each in others for others in parts)]
    if len(rows) == 1 and alone:
        shared = shared[1:]
    return [SEPARATOR.join(each for each in some if each not in shared) for some in parts], shared


def parts_of(row: Row, columns: Iterable[str]) -> list[str]:
    """`echo`, `asyncio`, `3.14t`, `threads`, `N = 2`; a name has several parts."""
    texts = (
        f"N = {row[name]}" if name.endswith("workers") else MEASURES.get(row[name], str(row[name]))
        for name in columns
        if str(row[name])
    )
    return [part for text in texts for part in text.split(SEPARATOR)]
