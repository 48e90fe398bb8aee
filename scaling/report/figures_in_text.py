"""Figures in a Markdown text: those whose comment names their source, and those without.

The word before a comment that asks for a verdict is a figure, too, and so are its words.

A comment of one word right after a figure is a key (`keys_in`), one with a colon is a source in
full (`scaling.analysis.lookup.cells`), and any other says that the figure is from elsewhere. Code
is skipped: what stands there only looks like a figure.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from scaling.analysis.statistics.estimate import Estimate
from scaling.analysis.statistics.verdict import Word
from scaling.base import formats
from scaling.base.errors import UsageError, unknown
from scaling.base.files import text_in
from scaling.base.typed import document

# --------------------------------------------------------------------------------------------- form
# How a figure is written in a text: its median, its interval or both, in which unit; or the
# verdict on it instead.

VERDICT, WORDS = "verdict", "words"  # its word; with by how much, or why it is inconclusive
FORMS = ("point", "interval", "percent", VERDICT, WORDS)


@dataclass(frozen=True, slots=True)
class Form:
    """Which parts of an estimate are written: both where none is named, in its own unit."""

    parts: frozenset[str] = frozenset()
    unit: str = ""

    @property
    def is_verdict(self) -> bool:
        """Whether only the verdict is written (`scaling.analysis.lookup.figure.verdicts`)."""
        return bool(self.parts & {VERDICT, WORDS})

    @property
    def is_in_words(self) -> bool:
        """Whether the verdict is written as in the tables: `slower, by 9 to 14 %`."""
        return WORDS in self.parts

    def text(self, value: Estimate) -> str:
        """`1.94 (1.92–1.97)`, `1.94`, `1.92–1.97`, `94.2 % (92.1–95.0 %)`.

        Raises:
            UsageError: there is no such figure, no interval of it, or its unit is of another kind.
        """
        if not value.n:
            raise UsageError("no valid run has it, or it is a ratio of two lower bounds")
        percent = "percent" in self.parts
        shown = value.scaled(100.0, "%") if percent else _in(self.unit, value)
        sign = " %" if percent else ""
        point, bounds = f"{formats.number(shown.point)}{sign}", shown.bounds
        if "interval" in self.parts:
            if not bounds:
                raise UsageError("it has no interval")
            return f"{bounds}{sign}"
        return f"{point} ({bounds}{sign})" if bounds and "point" not in self.parts else point


def form(parts: str, unit: str) -> Form:
    """A form as a source has it: `point`, `interval`, `percent`, or `point,percent`.

    Raises:
        UsageError: no such form or unit, or two that exclude each other.
    """
    named = frozenset(filter(None, parts.split(",")))
    for part in sorted(named):
        if part not in FORMS:
            raise unknown("form", part, FORMS, where="as")
    if {"point", "interval"} <= named:
        raise UsageError("as: leave it out to have point and interval")
    if named & {VERDICT, WORDS} and (len(named) > 1 or unit):
        raise UsageError("as: a verdict is written alone")
    if unit and unit not in formats.UNITS:
        raise unknown("unit", unit, formats.UNITS, where="in")
    if unit and "percent" in named:
        raise UsageError("in: a percentage has no other unit")
    return Form(named, unit)


def _in(unit: str, value: Estimate) -> Estimate:
    """The estimate in another unit of the same kind, such as ns for s, or MB/s for B/s."""
    if not unit:
        return value
    own, slash, each = value.unit.partition("/")
    factor = formats.unit_factor(own, unit)
    if factor is None:
        raise UsageError(f"in: {unit} is no unit for {value.unit or 'a number without one'}")
    return value.scaled(factor, f"{unit}{slash}{each}")


# --------------------------------------------------------------------------------------------- keys
# Keys of figures: short names for their sources, so that a text stays readable as it is written.
#
# Two threads do 1.94 (1.92–1.97)<!-- uvloop-gain --> times the round trips of one.
#
# `figures.toml`, in the folder of results that the text quotes, has the source of each key:
#
# uvloop-gain = "my-machine/pgo: speedup workload=echo loop=uvloop arm=3.14t workers=2"
#
# `faster<!-- uvloop-gain.verdict -->` is the verdict on that figure, and `faster, by 92 to
# 97 %<!-- uvloop-gain.words -->` the same in words.

FILE_NAME = "figures.toml"
OF_IT = {f".{form}": form for form in (VERDICT, WORDS)}  # after a key: the verdict on its figure
WRITTEN = re.compile(r"\s(?:as|in)=\S+")


def keys_in(folder: Path) -> dict[str, str]:
    """The source of each key; none where the folder has no such file.

    Raises:
        UsageError: the file cannot be read, or a value is no text.
    """
    path = folder / FILE_NAME
    if not path.exists():
        return {}
    table = document(text_in(path), str(path))
    for key, source in table.items():
        if not isinstance(source, str):
            raise UsageError(f"{path}: {key}: expected a source as text, got {source!r}")
    return table


def source_of(comment: str, keys: Mapping[str, str]) -> str:
    """The source that a comment names: by its key, by the key of its figure, or in full.

    Raises:
        UsageError: no such key.
    """
    if ":" in comment:
        return comment
    if comment in keys:
        return keys[comment]
    end = next((each for each in OF_IT if comment.endswith(each)), "")
    key = comment.removesuffix(end)
    if key not in keys:
        raise unknown("key", key, keys, where=FILE_NAME)
    return f"{WRITTEN.sub('', keys[key])} as={OF_IT[end]}"


# --------------------------------------------------------------------------------------------- text

NUMBER = r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?"
SIGN = r"(?:\s%)?"
RANGE = rf"{NUMBER}{SIGN}(?:–|\s+to\s+){NUMBER}{SIGN}"
WITH_RANGE = rf"{NUMBER}{SIGN}\s+\({RANGE}\)"
DATE = r"\d{4}-\d\d-\d\d"
OPEN = "?"  # what a writer puts where a figure is yet to come
WORD = rf"[A-Za-z]+(?=[*_]*<!--[^>]*[.=]{VERDICT}\b)"
IN_WORDS = (
    rf"(?:{'|'.join(get_args(Word.__value__))})(?:,\s[^<>|]*?)?(?=[*_]*<!--[^>]*[.=]{WORDS}\b)"
)
ALONE = r"(?<![\w.,–-])"  # not the end of a longer word or number

QUOTE = re.compile(
    rf"(?P<figure>{ALONE}(?:{re.escape(OPEN)}|{DATE}|{WITH_RANGE}|{RANGE}|{NUMBER}{SIGN}|{WORD}|{IN_WORDS}))?[*_]*"
    r"<!--\s*(?P<comment>[^\s:>]+:\s.*?|[\w.-]+)\s*-->",
    re.DOTALL,
)
IS_SOURCE = re.compile(
    rf":|(?:{'|'.join(map(re.escape, OF_IT))})$"
)  # a source even without a figure
BARE = re.compile(rf"{ALONE}{WITH_RANGE}(?![*_]*<!--)")
FENCED = re.compile(
    r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE
)
INLINE = re.compile(r"(?<!`)(`+)(?!`)(?:(?!\n\s*\n).)+?(?<!`)\1(?!`)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Quote:
    """A figure: the line that it begins in, from 1, its place in the text, what is written there.

    `comment` is its key or source, empty where it has none. A comment without a figure has an empty
    place, which is where the figure belongs.
    """

    line: int
    begin: int
    end: int
    written: str
    comment: str = ""


def quotes_in(text: str) -> list[Quote]:
    """Every comment with a key or a source, with the figure before it."""
    found = []
    for match in QUOTE.finditer(without_code(text)):
        if not match["figure"] and not IS_SOURCE.search(match["comment"]):
            continue  # `<!-- prettier-ignore -->` is no key
        begin, end = match.span("figure") if match["figure"] else (match.start(), match.start())
        comment = " ".join(match["comment"].split())
        found.append(Quote(_line(text, begin), begin, end, _on_a_line(match["figure"]), comment))
    return found


def bare_in(text: str) -> list[Quote]:
    """Every figure with its interval and no comment after it."""
    return [
        Quote(_line(text, match.start()), *match.span(), _on_a_line(match[0]))
        for match in BARE.finditer(without_code(text))
    ]


def without_code(text: str) -> str:
    """The text with blanks in the place of code, each character where it was."""
    for pattern in (FENCED, INLINE):
        text = pattern.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)
    return text


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _on_a_line(written: str | None) -> str:
    """A figure as it would be written without a line's end in it."""
    return " ".join((written or "").split())
