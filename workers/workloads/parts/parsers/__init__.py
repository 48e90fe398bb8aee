"""HTML parsers for the scraping workload, one file each.

Each reads the two kinds of pages of a site like Hacker News and returns the same records, so that
parsers can be compared. A missing field (a job has no points) is empty or 0; the workload decides
whether that is right.
"""

import importlib
from typing import NamedTuple, Protocol, cast


class Listed(NamedTuple):
    """A story as a list page shows it."""

    id: int
    title: str
    link: str
    points: int
    author: str
    comments: int


class Commented(NamedTuple):
    """A comment as an item page shows it; `indent` is how deep it is in the thread."""

    id: int
    author: str
    indent: int
    text: str


class Parser(Protocol):
    """The file of a parser. Pages are UTF-8; a bad number raises `ValueError`."""

    VERSION: str

    def listed(self, page: bytes) -> list[Listed]:
        """Find the stories of a list page, in order."""

    def commented(self, page: bytes) -> list[Commented]:
        """Find the comments of an item page, in order."""


def load_parser(name: str) -> Parser:
    """Import a parser: "lexbor", "turbohtml" or "stdlib".

    Raises:
        ImportError: its package is not installed, or does not support this interpreter.
    """
    return cast("Parser", importlib.import_module(f"workers.workloads.parts.parsers.with_{name}"))


def leading_number(text: str) -> int:
    """Return the number in "12 points" or "3&nbsp;comments"; 0 without one ("discuss")."""
    first = (text.split() or [""])[0]
    return int(first) if first.isdecimal() else 0
