"""Figures in a Markdown text: those whose comment says where they are from, and those without.

What stands in code is passed over; it only looks like a figure.
"""

import re
from dataclasses import dataclass

NUMBER = r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?"
SIGN = r"(?:\s%)?"
RANGE = rf"{NUMBER}{SIGN}(?:–|\s+to\s+){NUMBER}{SIGN}"
WITH_RANGE = rf"{NUMBER}{SIGN}\s+\({RANGE}\)"
DATE = r"\d{4}-\d\d-\d\d"
OPEN = "?"  # what a writer puts down for a figure that is yet to come
ALONE = r"(?<![\w.,–-])"  # not the end of a longer word or number

QUOTE = re.compile(
    rf"(?P<figure>{ALONE}(?:{re.escape(OPEN)}|{DATE}|{WITH_RANGE}|{RANGE}|{NUMBER}{SIGN}))?[*_]*"
    r"<!--\s*(?P<comment>[^\s:>]+:\s.*?)\s*-->",
    re.DOTALL,
)
BARE = re.compile(rf"{ALONE}{WITH_RANGE}(?![*_]*<!--)")
FENCED = re.compile(
    r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE
)
INLINE = re.compile(r"(?<!`)(`+)(?!`)(?:(?!\n\s*\n).)+?(?<!`)\1(?!`)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Quote:
    """A figure: the line that it begins in, from 1, its place in the text, what is written there.

    `comment` says where it is from; it is empty where there is none. A comment without a figure has
    a place that is empty, which is where the figure belongs.
    """

    line: int
    begin: int
    end: int
    written: str
    comment: str = ""


def quotes_in(text: str) -> list[Quote]:
    """Every comment that says where a figure is from, with the figure before it."""
    found = []
    for match in QUOTE.finditer(without_code(text)):
        begin, end = match.span("figure") if match["figure"] else (match.start(), match.start())
        comment = " ".join(match["comment"].split())
        found.append(Quote(_line(text, begin), begin, end, _on_a_line(match["figure"]), comment))
    return found


def bare_in(text: str) -> list[Quote]:
    """Every figure with its interval that no comment stands behind."""
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
