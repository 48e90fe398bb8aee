"""Fabricates lists of claims, and studies to check them with."""

from collections.abc import Callable, Sequence
from pathlib import Path

import scaling
from scaling.analysis.claims.claim import Claims
from scaling.analysis.claims.judging import JudgedClaim, judge
from scaling.analysis.claims.reading import claims_in
from scaling.analysis.table.load import Journal
from scaling.journal.record import RunLine
from tests.support.fabricate import Made, journal, write

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


def study(
    folder: Path, change: Callable[[RunLine], RunLine] | None = None, **made: object
) -> Journal:
    """Threads on 3.14t do 1, 1.8 and 2.4 times what one does with 1, 2 and 4, on two cores."""
    speeds = {("3.14t", "threads", n): value for n, value in ((1, 1.0), (2, 1.8), (4, 2.4))}
    asked = {"blocks": 8, "workers": (1, 2), "noise": 0.005, "ticks": 4, "speeds": speeds, **made}
    folder.mkdir(parents=True)
    write(journal(Made(**asked), change), folder / "journal.jsonl")  # type: ignore[arg-type]
    return scaling.read(folder)


def judged(journal: Journal, *tables: str) -> JudgedClaim:
    """The first of some claims, checked with one study."""
    first, *_ = judge([journal], claims(*tables))
    return first
