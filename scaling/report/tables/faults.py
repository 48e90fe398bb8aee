"""What the check, faults and a long load of an application showed, as tables and in a sentence."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from scaling.analysis.served.course import FIRST, ends_mib, growth
from scaling.base import formats
from scaling.base.formats import number, plural
from scaling.journal.beside import AppCheck, FaultRecord, SoakRecord
from scaling.report.tables.grid import Cell, Grid

# ---------------------------------------------------------------------------------------- app check
# What the check of an application on several loops found: a sentence, and a table of findings.

SOUND = "its answers are the same on several loops as on one"
CHECK_HEADINGS = ["finding", "first request", "what happens", "what to do"]


def check_sentence(found: AppCheck) -> str:
    """`Check: 2 findings on several loops (mixed-up, other-loop).`."""
    if found.ok:
        return f"Check: {SOUND}."
    kinds = ", ".join(dict.fromkeys(each.kind for each in found.findings))
    return f"Check: {plural(len(found.findings), 'finding')} on several loops ({kinds})."


def check_grids(found: AppCheck | None) -> Iterator[Grid]:
    """The findings; none where nothing was found or checked."""
    if found and found.findings:
        rows: list[list[Cell]] = [
            [each.kind, each.request, each.message, each.remedy] for each in found.findings
        ]
        yield Grid(
            "What is wrong on several loops", CHECK_HEADINGS, rows, words=len(CHECK_HEADINGS)
        )


# ------------------------------------------------------------------------------------------- faults

HEADINGS = ["fault", "arm", "model", "server", "requests", "lost", "refused"]
MEASURES = {
    "blocked P99 ms": "own_p99_ms",
    "blocked max ms": "own_max_ms",
    "others P99 ms": "others_p99_ms",
    "others max ms": "others_max_ms",
    "answers again after s": "back_s",
}
A_WORKER = "one worker "  # how names of faults begin
NOTE = (
    "One run each, without an interval. Lost: sent and not answered; refused: nobody listened. "
    "A process that is gone is started again at once, as a service manager does."
)


def faults_grid(faults: Sequence[FaultRecord]) -> Grid:
    """The table; `faults` has at least one."""
    first = faults[0]
    title = f"Faults, N = {first.workers}, at {formats.number(first.rate_per_s)}/s"
    return Grid(title, [*HEADINGS, *MEASURES], [_row(each) for each in faults], words=4, note=NOTE)


def faults_sentence(faults: Sequence[FaultRecord]) -> str:
    """`A worker (threads · processes) blocked for 1 s, others' P99 3 · 2 ms; killed, …`."""
    if not faults:
        return ""
    models = list(dict.fromkeys(each.model for each in faults))
    found = {(each.fault, each.model): each for each in faults}
    effects = (
        f"{name.removeprefix(A_WORKER)}, {_effect([found.get((name, model)) for model in models])}"
        for name in dict.fromkeys(each.fault for each in faults)
    )
    return f"A worker ({' · '.join(models)}) {'; '.join(effects)}."


def _effect(of_models: Sequence[FaultRecord | None]) -> str:
    """What one fault does to requests, for each model."""
    if not any(each and each.own_p99_ms is not None for each in of_models):  # nothing was blocked
        counts = (f"{e.lost + e.refused:,}" if e else formats.BLANK for e in of_models)
        return f"{' · '.join(counts)} failed"
    # Any thread of WSGI answers: there are no others.
    waits = (each and (each.others_p99_ms or each.own_p99_ms) for each in of_models)
    texts = (formats.number(wait) if wait else formats.BLANK for wait in waits)
    return f"others' P99 {' · '.join(texts)} ms"


def _row(each: FaultRecord) -> list[Cell]:
    values = [getattr(each, attribute) for attribute in MEASURES.values()]
    return [
        each.fault,
        each.arm,
        each.model,
        each.server,
        f"{each.requests:,}",
        f"{each.lost:,}",
        f"{each.refused:,}",
        *(formats.BLANK if value is None else formats.number(value) for value in values),
    ]


# --------------------------------------------------------------------------------------------- soak
# Memory under a long load, as a table and in a sentence: after the first tenth, at the end.

SOAK_NOTE = (
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
    return Grid(
        title, [*headings, *figures], [_soak_row(each) for each in runs], words=4, note=SOAK_NOTE
    )


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


def _soak_row(run: SoakRecord) -> list[Cell]:
    found = growth(run)
    return [
        *(run.arm, run.model, run.server, run.ended or "measured"),
        *_ends(run),
        number(found.point),
        found.bounds or formats.BLANK,
        *(formats.BLANK if count is None else f"{count:,}" for count in (run.requests, run.errors)),
    ]
