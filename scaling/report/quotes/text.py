"""Figures in a Markdown text: those whose comment names their source, and those without.

The word before a comment that asks for a verdict is a figure, too, and so are its words.

A comment of one word right after a figure is a key (`scaling.report.quotes.keys`), one with a colon
is a source in full (`scaling.analysis.lookup.name`), and any other says that the figure is from
elsewhere. Code is skipped: what stands there only looks like a figure.
"""

import re
from dataclasses import dataclass
from typing import get_args

from scaling.analysis.statistics.verdict import Word
from scaling.report.quotes.form import VERDICT, WORDS
from scaling.report.quotes.keys import OF_IT

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
