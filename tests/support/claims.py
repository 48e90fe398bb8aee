"""Fabricates lists of claims, and studies to check them with."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scaling.analysis.claims import Claims, claims_in
from scaling.analysis.claims.judging import JudgedClaim, judge
from scaling.analysis.table.load import Journal
from tests.support.runs import Change
from tests.support.studies import threads

SOURCE = """
[sources.somebody]
title = "Threads are free"
author = "A. Writer"
year = 2025
url = "https://example.org/threads"
"""
CELL = "workload=echo arm=3.14t workers=2"


def claim(
    rule: str,
    *,
    name: str = "twice",
    cell: str = CELL,
    measure: str = "speedup",
    over: str | Sequence[str] = "",
) -> str:
    """The TOML of one complete claim with this rule; with several `over`, of a figure for each."""
    figures = [f"{measure} {cell} {each}" for each in ([over] if isinstance(over, str) else over)]
    return f"""
[[claims]]
name = "{name}"
source = "somebody"
claim = "Two threads do twice the work of one."
theirs = "2.0 ×"
figure = {figures if len(figures) > 1 else repr(*figures)}
why = "as the rule says"
run = "scaling run --study scale --arm 3.14t"
{rule}
"""


def claims(*tables: str) -> Claims:
    """The list made from these tables of TOML."""
    return claims_in(SOURCE + "".join(tables), "claims.toml")


def study(folder: Path, change: Change | None = None, **made: Any) -> Journal:
    """A study of threads, written and read."""
    return threads(change=change, **made).read(folder)


def judged(journal: Journal, *tables: str) -> JudgedClaim:
    """The first of some claims, checked with one study."""
    first, *_ = judge([journal], claims(*tables))
    return first
