"""Figures quoted in the pages, each followed by a comment with its key.

    Threads do 1.08 (1.06–1.09)<!-- over --> times the work of processes (faster<!-- over.word -->).

`results/figures.toml` says what each key stands for, by folder of a published study and table:

    ["my-machine/compare".comparison]
    over = { row = { question = "over processes", workload = "echo", workers = 2 } }

`KEY.COLUMN` is another column of the same row. Besides tables of one study there are those of
several: the rows of all studies below a folder (`all`, or a machine), `counts` of words, `claims`.
A key with `count = true` is the number of rows that have these values, or one of a list of them. A
comment of several words says where else a figure is from. Code is skipped.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec
import pandas as pd

from scaling.analysis.table.empty_loop import PRIMITIVES
from scaling.analysis.tables.pairs import EQUAL_CELLS
from scaling.analysis.tables.words import OPEN, SCALES, as_counted, is_proven, side_of
from scaling.base.errors import UsageError, unknown
from scaling.base.formats import number
from scaling.report.index import counts
from tests.support.children import ROOT
from tests.support.claims import claim_table
from tests.support.tables import (
    COMPARISON,
    PUBLISHED,
    Row,
    figure_of,
    fitting,
    indexed,
    select,
    table_of,
    toml,
)

FIGURES = ROOT / "results" / "figures.toml"
NOTHING = "no word"
KINDS = {1: "better", -1: "worse", 0: "bounded"}
UNDECIDED = dict.fromkeys((OPEN, NOTHING), "undecided")
ALL = "all"  # the folder of counts over every published study


@cache
def count_table(folder: Path) -> pd.DataFrame:
    """The counts of words on the page of all studies: `cases`, each word, and what words say.

    `better` and `worse` are proven, of `bounded` the most is known that they are worse, and of
    those that are `undecided` nothing is.
    """
    found = counts(indexed(folder))
    said = {word: KINDS[side_of(word)] for scale in SCALES for word in scale.words}
    kinds = found.drop(columns=["heading", "cases"]).rename(columns={**said, **UNDECIDED}).T
    sums = kinds.groupby(level=0).sum().T
    sums = sums.reindex(columns=[*KINDS.values(), "undecided"], fill_value=0)
    return found.join(sums).astype(object)


def printed_counts(folder: Path) -> Iterator[str]:
    """For each heading how often each word was given, how many ratios have none or are open, and
    what is left of the differences where a sentence counts them; then those of A/A pairs.
    """
    shown = indexed(folder)
    for heading, part in shown[shown["workload"] != PRIMITIVES].groupby("heading", sort=False):
        words = part["word"]
        if (words != "").any():  # a gain has none
            undecided = words.isin([OPEN, ""]).sum()
            yield f"{heading}: {_listed(words)}; {undecided} of {len(words)} open or without a word"
            yield f"    as a sentence counts them: {_listed(as_counted(part))}"
    pairs = fitting(table_of(folder, COMPARISON), {"question": EQUAL_CELLS})["word"]
    pairs = pairs[pairs != ""]
    yield f"A/A pairs: {pairs.map(is_proven).sum()} of {len(pairs)} are called different"


def _listed(words: "pd.Series[str]") -> str:
    """`slower 36, same 1`, the most frequent one first."""
    found = words.replace("", NOTHING).value_counts()
    return ", ".join(f"{word} {count}" for word, count in found.items())


class Quoted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a key stands for: a column of one row of a table, or the number of rows.

    The figure is written times `scale`, with its interval, as its `point` alone or in `percent`;
    that of an A/A pair as `noise`, by how much equal runs may differ. `place` is the folder below
    `results/published`, and the table.
    """

    row: dict[str, Any] = {}
    column: str = "ratio"
    scale: float = 1.0
    form: Literal["interval", "point", "percent", "noise"] = "interval"
    count: bool = False
    place: tuple[str, str] = ("", "")


def quoted_in(file: Path = FIGURES) -> dict[str, Quoted]:
    """What all keys in `figures.toml` stand for.

    Raises:
        UsageError: no TOML, a key given twice, or a field that is wrong.
    """
    found: dict[str, Quoted] = {}
    for folder, tables in toml(file, dict[str, dict[str, dict[str, Quoted]]]).items():
        for table, keys in tables.items():
            for key, each in keys.items():
                if key in found:
                    raise UsageError(f"{file.name}: {key} is there twice")
                found[key] = msgspec.structs.replace(each, place=(folder, table))
    return found


class Figures:
    """The quoted figures as texts, by key."""

    def __init__(self, quoted: dict[str, Quoted], published: Path = PUBLISHED) -> None:
        self.quoted = quoted
        self._published = published

    def text(self, comment: str) -> str:
        """The figure that a comment stands for: `1.08 (1.06–1.09)`, `1,025`, `faster`.

        Raises:
            UsageError: no such key or column, or not exactly one row.
        """
        key, column = comment, ""
        if comment not in self.quoted:
            key, _, column = comment.rpartition(".")
        if key not in self.quoted:
            raise unknown("key", comment, self.quoted, where=FIGURES.name)
        quoted = self.quoted[key]
        place = "/".join(quoted.place)
        rows = self._table(*quoted.place)
        if quoted.count:
            return f"{len(fitting(rows, quoted.row)):,}"
        return written(select(rows, quoted.row, place), quoted, column or quoted.column, place)

    def _table(self, place: str, table: str) -> pd.DataFrame:
        folder = self._published if place == ALL else self._published / place
        made = {"claims": claim_table, "counts": count_table}.get(table)
        return made(folder) if made else table_of(folder, table)


def written(row: Row, quoted: Quoted, column: str, place: str) -> str:
    """A column of a row as a text has it."""
    sign = " %" if quoted.form == "percent" else ""
    if f"{column}_low" in row:
        figure = figure_of(row, column, place)
        if quoted.form == "noise":
            return f"{number(100 * (max(figure.high, 1 / figure.low) - 1))} %"
        if quoted.form == "point":
            return number(figure.point * quoted.scale)
        return figure.text(sign, quoted.scale)
    match row.get(column):
        case None:
            raise unknown("column", column, row, where=place)
        case int() as count:
            return f"{count:,}"
        case float() as value:
            return f"{number(value)}{sign}"
        case text:
            return str(text) or NOTHING


# --------------------------------------------------------------------------------------------- text

NUMBER = r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?(?:\s%)?"
INTERVAL = rf"{NUMBER}\s+\({NUMBER}(?:–|\s+to\s+){NUMBER}\)"
WORDS = sorted({NOTHING, *(word for scale in SCALES for word in scale.words)}, key=len)
WORD = rf"(?:{'|'.join(reversed(WORDS))})(?=[*_]*<!--\s*\S+\.word\b)"
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
    return Figures(quoted_in())
