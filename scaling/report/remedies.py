"""What remedies bring: a table, what does not apply, the lines to paste; as JSON, and as rows."""

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import msgspec
import pandas as pd
from rich.console import Console
from rich.text import Text

from scaling.analysis.remedies import Factor, Found, Remedies, remedies_in
from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.estimate import bounds_kind
from scaling.base.console import say
from scaling.base.formats import BLANK, listed
from scaling.builds.settings import REMEDIES, SETTINGS
from scaling.builds.settings.setting import Setting
from scaling.report.tables.findings import HEADINGS
from scaling.report.tables.grid import Cell, Grid
from scaling.study.questions import CPU, MEMORY, P99
from scaling.study.remedies import LeftOut

BESIDE = (CPU, P99, MEMORY)  # throughput, at the headline N alone

type Row = dict[tuple[str, int], Factor]


def print_remedies(found: Found, console: Console) -> None:
    """Print each remedy alone, the best together, what was not measured, the lines to paste."""
    for several in filter(None, (found.alone, found.together)):
        print_factors(several, console)
    for line in left_out_lines(found.left_out):
        console.print(Text(line))
    if not found.best:
        say(console, "No remedy is proven to help: there is nothing to paste.")
        return
    console.print(Text(f"Lines to paste for {listed(found.best)}:"))
    for line in pasted(found.best):
        say(console, line)


def print_factors(found: Remedies, console: Console) -> None:
    """Print what each remedy brings, and what the figures are."""
    for grid in grids(found):
        console.print(grid)
    for line in notes(found):
        console.print(Text(line))


def grids(found: Remedies) -> Iterator[Grid]:
    """A table for each workload, arm and model: a row for each remedy, the best first."""

    def subject(each: Factor) -> tuple[str, str, str]:
        return each.subject, each.ratio.over.arm, each.ratio.over.model

    for (title, arm, model), group in groupby(sorted(found.factors, key=subject), key=subject):
        rows: dict[str, Row] = {}
        for each in group:
            of = each.ratio.of
            rows.setdefault(of.arm, {})[each.ratio.figure, of.workers] = each
        over = f"{title}: {model} on {arm}, with a remedy over without"
        yield _grid(over, rows, found.headline_n)


def _grid(title: str, rows: dict[str, Row], headline_n: int) -> Grid:
    counts = sorted({n for row in rows.values() for figure, n in row if figure == "throughput"})
    figures = [each for each in BESIDE if any((each, headline_n) in row for row in rows.values())]

    def speed(row: Row) -> float:
        best = row.get(("throughput", headline_n))
        return best.ratio.point if best else 0.0

    def cells(row: Row) -> list[Cell]:
        some = next(iter(row.values()))
        shown = [row.get(("throughput", n)) for n in counts]
        shown += [row.get((figure, headline_n)) for figure in figures]
        name = f"{'+'.join(some.added)}{'\ncontrol' if some.is_control else ''}"
        return [name, *(each.ratio if each else BLANK for each in shown)]

    headings = ["remedy", *(f"N = {n}" for n in counts), *(HEADINGS[each] for each in figures)]
    return Grid(title, headings, [*map(cells, sorted(rows.values(), key=speed, reverse=True))])


def notes(found: Remedies) -> Iterator[str]:
    """What the figures are, and what is in doubt."""
    kind = bounds_kind(each.ratio for each in found.factors)
    yield (
        f"Medians of ratios inside a block{f', {kind}' if kind else ''}; CPU, P99 and memory at "
        f"N = {found.headline_n}. Throughput at N = {found.headline_n} is one family (Holm); all "
        f"other ratios are exploratory."
    )
    if any(each.ratio.measure == P99 for each in found.factors):
        yield "P99 is at half of the peak of the arm without a remedy, in an open loop."
    for arm, fault in found.unmeasured.items():
        yield f"{arm}: no run is valid: {fault}"
    for each in found.suspicious:
        yield (
            f"IN DOUBT: {'+'.join(each.added)} is a control that must not help, and is faster at N "
            f"= {each.ratio.of.workers} ({each.ratio} times). Do not trust the other figures: run "
            f"more blocks on a quieter machine"
        )


def left_out_lines(left_out: Sequence[LeftOut]) -> Iterator[str]:
    """What does not apply, and why; the same reason once for all arms."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for each in left_out:
        reasons.setdefault((each.remedy, each.reason), []).append(each.arm)
    if reasons:
        yield "Not measured:"
    for (remedy, reason), arms in reasons.items():
        yield f"  {remedy} ({listed(arms)}): {reason}"


def pasted(names: Sequence[str]) -> Iterator[str]:
    """The lines that a user writes to have these settings: variables, then Python."""
    chosen = [SETTINGS[name] for name in names]
    yield from variables(chosen)
    python = python_lines(chosen)
    if python:
        yield "# in Python, first in the program unless it says otherwise"
        yield from python


def variables(chosen: Sequence[Setting]) -> list[str]:
    """The environment as a shell sets it."""
    return [f"export {variable}" for each in chosen for variable in each.variables]


def python_lines(chosen: Sequence[Setting]) -> list[str]:
    """The lines of Python; one that several settings have stands there once."""
    return list(dict.fromkeys(line for each in chosen for line in each.lines))


def listing() -> Iterator[str]:
    """Every remedy: what it does, who recommends it, how a user has it."""
    for name, setting in REMEDIES.items():
        yield f"{name}: {setting.summary}"
        yield f"    {setting.source}"
        yield from (f"    {line}" for line in (*variables([setting]), *python_lines([setting])))


# ------------------------------------------------------------------------------- for other programs
# What remedies bring, for other programs: as one JSON object, and as a table.


def remedies_json(found: Found) -> str:
    """The object; `together` is empty where fewer than two remedies helped."""
    chosen = [SETTINGS[name] for name in found.best]
    document: dict[str, Any] = {
        "headline_workers": found.alone.headline_n,
        "factors": [_factor(each) for each in found.alone.factors],
        "in_doubt": ["+".join(each.added) for each in found.alone.suspicious],
        "together": [_factor(each) for each in found.together.factors] if found.together else [],
        "left_out": [msgspec.to_builtins(each) for each in found.left_out],
        "best": list(found.best),
        "paste": {"environment": variables(chosen), "python": python_lines(chosen)},
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def remedy_rows(results: StudyResults, without: str) -> pd.DataFrame:
    """One row for each figure of an arm with remedies over that of the arm `without` any.

    Columns: `subject` (the workload), `remedy`, `control` (it must not help), `arm`, `over`,
    `model`, `workers`, `measure`; the `ratio`, a median over `blocks`, with its bounds `low` and
    `high` (a 95 % interval where there is a `coverage`), its `verdict`, `why`, and `family`;
    `in_turn`, whether the two were measured in turn, and why not.
    """
    return pd.DataFrame([_factor(each) for each in remedies_in(results, [without]).factors])


def _factor(each: Factor) -> dict[str, Any]:
    ratio, verdict = each.ratio, each.ratio.verdict
    return {
        "subject": each.subject,
        "remedy": "+".join(each.added),
        "control": each.is_control,
        "arm": ratio.of.arm,
        "over": ratio.over.arm,
        "model": ratio.of.model,
        "workers": ratio.of.workers,
        "measure": ratio.figure,
        "ratio": ratio.point,
        "low": ratio.low,
        "high": ratio.high,
        "coverage": ratio.coverage,
        "blocks": ratio.n,
        "verdict": verdict.word,
        "why": verdict.why,
        "family": verdict.family,
        "in_turn": not ratio.why_apart,
        "why_not_in_turn": ratio.why_apart or None,
    }
