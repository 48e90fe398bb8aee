"""Memory under a long load, as a table and in a sentence: after the first tenth, at the end."""

from collections.abc import Sequence
from typing import Any

import msgspec

from scaling.analysis.served.growth import FIRST, ends_mib, growth
from scaling.base import formats
from scaling.base.formats import number
from scaling.journal.beside import SoakRecord
from scaling.report.tables.grid import Cell, Grid

NOTE = (
    "One run each. The interval is that of the trend inside the run, after its first tenth. Memory "
    "is that of the server's processes; what they share counts once (PSS)."
)


def soak_grid(runs: Sequence[SoakRecord]) -> Grid:
    """The table; `runs` has at least one."""
    first = runs[0]
    title = (
        f"Memory in {_time(first.duration_s)} of load at {number(first.rate_per_s)}/s, "
        f"N = {first.workers}"
    )
    headings = ["arm", "model", "server", "outcome"]
    begin = f"MiB after {_time(FIRST * first.duration_s)}"
    figures = [begin, "MiB at the end", "MiB per hour", "95 % interval", "requests", "errors"]
    return Grid(title, [*headings, *figures], [_row(each) for each in runs], words=4, note=NOTE)


def soak_sentence(runs: Sequence[SoakRecord]) -> str:
    """`MiB after 1 min and 10 min at 400/s (growth per hour): threads 61, 63 (3–20).`, if any."""
    if not runs:
        return ""
    first = runs[0]
    after = f"{_time(FIRST * first.duration_s)} and {_time(first.duration_s)}"
    asked = f"MiB after {after} at {number(first.rate_per_s)}/s (growth per hour)"
    return f"{asked}: {', '.join(map(_short, runs))}."


def soak_json(runs: Sequence[SoakRecord]) -> list[dict[str, Any]]:
    """The runs as JSON objects, each with its growth."""
    shown = []
    for each in runs:
        found = growth(each)
        bounds = (found.point, found.low, found.high) if found.n else (None, None, None)
        names = ("growth_mib_per_h", "growth_mib_per_h_low", "growth_mib_per_h_high")
        shown.append({**msgspec.to_builtins(each), **dict(zip(names, bounds, strict=True))})
    return shown


def _time(seconds: float) -> str:
    return formats.duration(seconds).removesuffix(" 00 s")


def _ends(run: SoakRecord) -> list[str]:
    """To 0.1 MiB, so that a small gain is not rounded to a large one."""
    return [f"{each:,.1f}" for each in ends_mib(run)] or 2 * [formats.BLANK]


def _short(run: SoakRecord) -> str:
    if run.ended:
        return f"{run.model} {run.ended}"
    begin, end = _ends(run)
    bounds = growth(run).bounds
    return f"{run.model} {begin}, {end}{f' ({bounds})' if bounds else ''}"


def _row(run: SoakRecord) -> list[Cell]:
    found = growth(run)
    return [
        *(run.arm, run.model, run.server, run.ended or "measured"),
        *_ends(run),
        number(found.point),
        found.bounds or formats.BLANK,
        *(formats.BLANK if count is None else f"{count:,}" for count in (run.requests, run.errors)),
    ]
