"""Figures quoted in the pages, each followed by a comment with its key.

    Two do 1.94 (1.92–1.97)<!-- gain --> times the work of one (faster<!-- gain.verdict -->).

`results/figures.toml` says what each key stands for, by folder of a published study and table:

    ["my-machine/compare".comparison]
    gain = { row = { question = "gain", workload = "echo", arm = "3.14t", workers = 2 } }

`KEY.COLUMN` is another column of the same row. Besides tables of one study there are those of
several (`all`, or a machine): `counts` of verdicts, `claims` with their words, `aa` with A/A pairs.
A key with `count = true` is the number of their rows that have these values. A comment of several
words says where else a figure is from. Code is skipped.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from scaling.base.errors import UsageError, unknown
from scaling.base.files import text_in
from scaling.base.formats import number
from scaling.base.typed import converted, document
from scaling.report.index import counts
from tests.support.aa_pairs import aa_rows
from tests.support.children import ROOT
from tests.support.claims import CLAIMS, claim_rows
from tests.support.tables import (
    PUBLISHED,
    Row,
    figure_of,
    fitting,
    rows_of,
    select,
    studies_in,
)

FIGURES = ROOT / "results" / "figures.toml"
ALL = "all"  # the folder of counts over every published study
AA = "aa"


def count_rows(folder: Path) -> list[Row]:
    """The counts of verdicts that the page of all studies has, as rows."""
    return [
        {**row}
        for row in msgspec.convert(counts(folder).to_dict("records"), list[dict[str, int | str]])
    ]


OF_FOLDERS: dict[str, Callable[[Path], Sequence[Row]]] = {CLAIMS: claim_rows, "counts": count_rows}


class Quoted(msgspec.Struct, frozen=True, kw_only=True):
    """What a key stands for: a column of one row of a table, or the number of rows.

    `folder` is below `results/published`. The figure is written times `scale`, with its interval,
    as its `point` alone or in `percent`.
    """

    folder: str
    table: str
    row: dict[str, object] = {}
    column: str = "ratio"
    scale: float = 1.0
    form: Literal["interval", "point", "percent"] = "interval"
    count: bool = False


def quoted_in(text: str) -> dict[str, Quoted]:
    """What all keys in `figures.toml` stand for.

    Raises:
        UsageError: no TOML, a key given twice, or a field that is wrong.
    """
    found: dict[str, Quoted] = {}
    for folder, tables in document(text, FIGURES.name).items():
        for table, keys in tables.items():
            for key, value in keys.items():
                if key in found:
                    raise UsageError(f"{FIGURES.name}: {key} is there twice")
                place = {"folder": folder, "table": table}
                found[key] = converted({**value, **place}, Quoted, f"{FIGURES.name}: {key}")
    return found


class Figures:
    """The quoted figures as texts, by key."""

    def __init__(self, quoted: Mapping[str, Quoted], published: Path = PUBLISHED) -> None:
        self.quoted = quoted
        self._published = published

    def text(self, comment: str) -> str:
        """The figure that a comment stands for: `1.94 (1.92–1.97)`, `1,025`, `faster`.

        Raises:
            UsageError: no such key or column, or not exactly one row.
        """
        key, column = comment, ""
        if comment not in self.quoted:
            key, _, column = comment.rpartition(".")
        if key not in self.quoted:
            raise unknown("key", comment, self.quoted, where=FIGURES.name)
        quoted = self.quoted[key]
        rows = self._rows(quoted)
        if quoted.count:
            return f"{len(fitting(rows, quoted.row)):,}"
        place = f"{quoted.folder}/{quoted.table}"
        return written(select(rows, quoted.row, place), quoted, column or quoted.column, place)

    def _rows(self, quoted: Quoted) -> Sequence[Row]:
        folder = self._published if quoted.folder == ALL else self._published / quoted.folder
        if quoted.table in OF_FOLDERS:
            return OF_FOLDERS[quoted.table](folder)
        read = aa_rows if quoted.table == AA else lambda study: rows_of(study, quoted.table)
        return [row for study in studies_in(folder) for row in read(study)]


def written(row: Row, quoted: Quoted, column: str, place: str) -> str:
    """A column of a row as a text has it."""
    sign = " %" if quoted.form == "percent" else ""
    if f"{column}_low" in row:
        figure = figure_of(row, column, place).scaled(quoted.scale)
        return number(figure.point) if quoted.form == "point" else figure.text(sign)
    match row.get(column):
        case None:
            raise unknown("column", column, row, where=place)
        case int() as count:
            return f"{count:,}"
        case float() as value:
            return f"{number(value)}{sign}"
        case text:
            return str(text)


# --------------------------------------------------------------------------------------------- text

NUMBER = r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?(?:\s%)?"
INTERVAL = rf"{NUMBER}\s+\({NUMBER}(?:–|\s+to\s+){NUMBER}\)"
WORD = r"[a-z]+(?=[*_]*<!--\s*\S+\.verdict\b)"
ALONE = r"(?<![\w.,–-])"  # not the end of a longer word or number
QUOTE = re.compile(
    rf"(?P<figure>{ALONE}(?:\?|\d{{4}}-\d\d-\d\d|{INTERVAL}|{NUMBER}|{WORD}))?[*_]*"
    r"<!--\s*(?P<key>[\w.-]+)\s*-->"
)
BARE = re.compile(rf"{ALONE}{INTERVAL}(?![*_]*<!--)")
CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]+`", re.DOTALL | re.MULTILINE)


def comments_in(text: str) -> list[str]:
    """The keys that stand after a figure, with `.COLUMN`."""
    return [each["key"] for each in QUOTE.finditer(without_code(text)) if each["figure"]]


def bare_in(text: str) -> list[str]:
    """Every figure with its interval and no comment after it."""
    return [" ".join(each[0].split()) for each in BARE.finditer(without_code(text))]


def without_code(text: str) -> str:
    """The text with blanks in the place of code, each character where it was."""
    return CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)


def corrected(text: str, figures: Figures) -> str:
    """The text with every figure as it was measured.

    Raises:
        UsageError: a key that is not there, has no figure before it or does not name one row.
    """
    for quote in reversed(list(QUOTE.finditer(without_code(text)))):
        figure, key = quote["figure"], quote["key"]
        if not figure:
            if key in figures.quoted:
                raise UsageError(f"{key}: there is no figure before it; write ?<!-- {key} -->")
            continue  # `<!-- prettier-ignore -->` is no key
        right = figures.text(key)
        if " ".join(figure.split()) != right:
            text = text[: quote.start("figure")] + right + text[quote.end("figure") :]
    return text


def figures() -> Figures:
    """Those of the published studies."""
    return Figures(quoted_in(text_in(FIGURES)))
