"""`scaling explain`: where the time of each cell goes, as sentences and waterfalls, or as JSON."""

import json
import math
import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.text import Text

from scaling.analysis.losses import TERMS, Attribution, Loss
from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.estimate import Estimate
from scaling.analysis.table.stacks import NS_PER_S
from scaling.base import formats
from scaling.base.console import say
from scaling.base.errors import UsageError
from scaling.builds.arms import parse_arm
from scaling.builds.cpython import Build
from scaling.journal.record import Cell as StudyCell
from scaling.report.files import read
from scaling.report.tables.findings import workers
from scaling.report.tables.grid import Cell, Chapter
from scaling.report.tables.losses import (
    LEGEND,
    sentences,
    terms_grid,
    unit_for,
    words_of,
)
from scaling.report.tables.overview import Row, apart, chapter_of
from scaling.report.terminal.answer import FULL, LONGEST_IN_DETAILS, SHADED, SHORTEST, SLIVER
from scaling.study.presets import FEWEST_FOR_INTERVAL
from scaling.study.questions import curve_of
from scaling.study.settle import caveats

# ------------------------------------------------------------------------------------------ as JSON
# What each cell loses, as one JSON object: `scaling explain --json`.


def explained_json(results: StudyResults) -> str:
    """The object: the study's name, and its `cells`, each a loss.

    What is not known is null.
    """
    document = {
        "study": results.study.name,
        "caveats": caveats(results.study),
        "cells": [_cell(each) for each in results.attributions],
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def _cell(each: Attribution) -> dict[str, Any]:
    key = each.runs.curves[0].key
    losses = {loss.term.name: loss for loss in each.losses}
    terms = {term.name: _terms(losses.get(term.name)) for term in TERMS}
    factors = {term.name: _factor(losses.get(term.name)) for term in TERMS}
    return {
        "cell": each.name,
        "workload": key.workload,
        "parameters": dict(key.parameters),
        "sizing": key.sizing,
        "loop": each.runs.loop,
        "arm": each.of.arm,
        "model": each.of.model,
        "workers": each.workers,
        "blocks": each.blocks,
        "terms_ns": terms | {"total": _terms(each.whole)},
        "factors": None if each.is_rated else factors | {"efficiency": _factor(each.whole)},
        "largest": each.largest.term.name if each.largest else None,
        "machine_ns": _in_ns(each.shared.machine) if each.shared else None,
        "sharing_ns": _in_ns(each.shared.sharing) if each.shared else None,
        "waits": each.waits,
        "one_term": each.one_term,
        "sentence": " ".join(sentences(each)),
    }


def _terms(loss: Loss | None) -> dict[str, Any] | None:
    if loss is None or not loss.at_n.n:
        return None
    shown = {"at_1": loss.at_one, "at_n": loss.at_n, "loss": loss.loss}
    return {name: _in_ns(value) for name, value in shown.items()}


def _factor(loss: Loss | None) -> dict[str, float | None] | None:
    return _bounds(loss.factor) if loss is not None and loss.factor.n else None


def _in_ns(value: Estimate) -> dict[str, float | None]:
    return _bounds(value.scaled(NS_PER_S, "ns"))


def _bounds(value: Estimate) -> dict[str, float | None]:
    """The value with its interval; below six blocks there is none."""
    known = value.coverage is not None
    bounds = {"low": value.low if known else math.nan, "high": value.high if known else math.nan}
    every = {"value": value.point} | bounds
    return {name: each if math.isfinite(each) else None for name, each in every.items()}


# ---------------------------------------------------------------------------------------- waterfall

INDENT = "  "
MOST_TOLD, MOST_ROWS = 4, 6


def _that_lose_most(cells: Sequence[Attribution]) -> tuple[list[Attribution], list[Attribution]]:
    """The cells that are explained in short, and those that have a row there.

    Explained are threads without the GIL, where a study has them.
    """
    asked = [each for each in cells if _is_asked(each)] or list(cells)
    told = sorted(asked, key=_kept)[:MOST_TOLD]
    known = set(map(id, told))
    others = [each for each in cells if each.whole and not each.is_rated and id(each) not in known]
    return told, sorted(others, key=_kept)[:MOST_ROWS]


def _in_short(
    told: Sequence[Attribution], rows: Sequence[Attribution], width: int
) -> Iterator[Text | Chapter]:
    """The sentences of some cells, the waterfall of the first, and a row for each of the others."""
    yield from _told(told)
    first = told[0]
    if _is_drawn(first) and not first.is_rated:
        yield Text(first.name, "bold")
        yield from waterfall(first, width)
        yield Text()
    if rows:
        yield _others(rows)


def _is_asked(each: Attribution) -> bool:
    return each.of.model == "threads" and parse_arm(each.of.arm).without_gil


def _kept(each: Attribution) -> tuple[bool, float]:
    """For sorting: what misses its ideal first, and of that what has the least efficiency."""
    efficiency = each.whole.factor.point if each.whole and each.whole.factor.n else math.inf
    return not each.misses, efficiency


def _others(cells: Sequence[Attribution]) -> Chapter:
    """A row for each cell: its efficiency, its loss, and where most of that goes."""
    shared, labels = apart([each.runs.section.label for each in cells])
    rows: list[Row] = []
    for label, each in zip(labels, cells, strict=True):
        assert each.whole is not None
        unit, loss = unit_for(each), each.whole.loss
        figures: dict[str, Cell] = {
            "efficiency": each.whole.factor,
            "loss per\noperation": f"{unit.number(loss)} {unit.name}\n{unit.bounds(loss)}".strip(),
            "largest\npart": words_of(each.largest.term, each) if each.largest else formats.BLANK,
        }
        rows.append(([label, each.runs.loop, f"{each.of.arm}\n{workers(each.of)}"], figures))
    title = f"Other cells{f' of {shared}' if shared else ''}, what loses most first"
    return chapter_of(title, ["with", "loop"], rows, [], in_short=False)


def _told(cells: Iterable[Attribution]) -> Iterator[Text]:
    """A heading and sentences for each cell."""
    for each in cells:
        yield Text(each.name, "bold")
        yield from map(Text, sentences(each))
        yield Text()


def waterfalls(cells: Sequence[Attribution], width: int) -> Iterator[Text | Chapter]:
    """The sentences of all cells; then a waterfall and a table for each that misses its ideal, or
    may do so: below six blocks that is not known.
    """
    yield from _told(cells)
    for each in filter(_is_drawn, cells):
        yield Text(each.name, "bold")
        if not each.is_rated:
            yield from waterfall(each, width)
        yield Chapter("", [], [terms_grid(each)])


def _is_drawn(each: Attribution) -> bool:
    if each.whole is None:
        return False
    return each.misses or each.is_rated or each.blocks < FEWEST_FOR_INTERVAL


def waterfall(each: Attribution, width: int) -> Iterator[Text]:
    """The lines of one cell."""
    assert each.whole is not None
    unit = unit_for(each)
    one, many = each.whole.at_one.point, each.whole.at_n.point
    known = [loss for loss in each.losses if loss.loss.n]
    terms = (words_of(loss.term, each) for loss in known)
    names = ["ideal, as N = 1", *terms, f"N = {each.workers}"]
    figures = [
        unit.number(each.whole.at_one),
        *(formats.signed(unit.number(loss.loss)) for loss in known),
        unit.number(each.whole.at_n),
    ]
    levels = list(accumulate((loss.loss.point for loss in known), initial=one))
    first, second = max(map(len, names)), max(map(len, figures))
    length = max(SHORTEST, min(LONGEST_IN_DETAILS, width - first - second - len(INDENT) - 4))
    top = max(levels)
    spans = [(0.0, one), *pairwise(levels), (0.0, many)]
    for name, figure, (begin, end) in zip(names, figures, spans, strict=True):
        drawn = _step(begin, end, top, length)
        yield Text(f"{INDENT}{name:<{first}} {figure:>{second}}  {drawn}", no_wrap=True)


def _step(begin: float, end: float, top: float, length: int) -> str:
    """A bar between two levels, where `length` characters stand for `top`."""
    left, right = (round(max(0.0, level) / top * length) for level in sorted((begin, end)))
    full = FULL if end >= begin else SHADED
    return " " * left + (full * (right - left) or (SLIVER if end != begin else ""))


# ------------------------------------------------------------------------------------------ printed


def explain(
    results: Path, console: Console, *, json_to: Console | None = None, details: bool = False
) -> None:
    """Print what the cells of the study in `results` lose against N = 1, as JSON to `json_to`.

    Those of threads without the GIL that lose most are explained, other cells have a row. With
    `details` every term of every cell is printed, as in JSON.

    Raises:
        UsageError: there is no journal that could be read, or nothing in it can be explained.
    """
    study = StudyResults.of(read(results, console))
    _require_readings(study)
    if json_to is not None:
        say(json_to, explained_json(study))
        return
    for warning in filter(None, (study.soundness.warning, *caveats(study.study))):
        console.print(Text(warning))
    every = sorted(study.attributions, key=lambda each: each.runs.section.is_control)
    if details:
        console.print(Group(*waterfalls(every, console.width)))
        left = 0
    else:
        asked = [each for each in every if not _is_aside(each)]
        told, rows = _that_lose_most(asked or every)
        console.print(Group(*_in_short(told, rows, console.width)))
        left = len(every) - len(told) - len(rows)
    console.print(LEGEND, style="dim")
    command = f"scaling explain {shlex.quote(str(results))}"
    if not details:
        omitted = f"; {formats.plural(left, 'cell')} left out" if left else ""
        say(console, f"Every term of every cell{omitted}: {command} --details")
    if (chosen := cell_to_profile(study)) is not None:
        say(console, f"Functions: {command} --hold {HOLD_S} runs {in_words(chosen)} for profilers:")
        for line in profiler_commands(chosen, HOLD_S):
            say(console, f"{INDENT}{line}")


def _is_aside(each: Attribution) -> bool:
    """Whether a cell is a control, or has more workers than there are CPUs: most of its loss is
    their waiting.
    """
    return each.is_oversubscribed or each.runs.section.is_control


# ---------------------------------------------------------------------------------------- profilers

HOLD_S = 60
PERF_RATE_PER_S = 999  # not in step with anything that happens every millisecond
FIRST_SAMPLER = 15  # minor version of CPython
NO_SAMPLER = f"# python -m profiling.sampling begins with 3.{FIRST_SAMPLER}"


def cell_to_profile(study: StudyResults) -> StudyCell | None:
    """The cell of CPython that loses most; of threads without the GIL where there is one.

    None of a study in which only commands and other runtimes have readings.
    """
    known = [
        each
        for each in study.attributions
        if each.whole is not None
        and isinstance(parse_arm(each.of.arm).build, Build)
        and curve_of(each.of) not in study.commands
    ]
    candidates = [each for each in known if not _is_aside(each)] or known
    return _that_lose_most(candidates)[0][0].of if candidates else None


def in_words(cell: StudyCell) -> str:
    """A cell such as `echo on uvloop, 2 threads on 3.14t`."""
    return f"{cell.workload} on {cell.loop}, {workers(cell)} on {cell.arm}"


def profiler_commands(
    cell: StudyCell, seconds: int, python: str = "", pids: Sequence[object] = ("PID",)
) -> list[str]:
    """Shell commands that profile a cell for half of the `seconds` that it is held.

    `python` is the interpreter that runs it: CPython's own sampler reads processes of its own
    version, one at a time. Before 3.15 there is none, and perf alone names Python functions.
    """
    build = parse_arm(cell.arm).build
    assert isinstance(build, Build)
    half_s, every = max(1, seconds // 2), ",".join(map(str, pids))
    perf = f"perf record -F {PERF_RATE_PER_S} -g -p {every} -- sleep {half_s} && perf report"
    if build.minor < FIRST_SAMPLER:
        return [perf, NO_SAMPLER]
    program = shlex.quote(python or f"python{build.name}")
    return [perf, f"{program} -m profiling.sampling attach -a -d {half_s} {pids[0]}"]


def _require_readings(study: StudyResults) -> None:
    """Raise where no cell has figures, saying what to measure."""
    if any(each.whole is not None for each in study.attributions):
        return
    ns = set(study.frame["workers"])
    if not ns - {1}:
        raise UsageError(
            "explain: every run of this study is at N = 1, so nothing is lost; measure more "
            "workers, too: scaling run … --workers 1,2"
        )
    if 1 not in ns:
        raise UsageError(
            "explain: no run of this study is at N = 1, which each N is compared with; measure it, "
            "too: scaling run … --workers 1,"
            f"{','.join(str(n) for n in sorted(ns))}"
        )
    if not study.attributions:
        raise UsageError(
            "explain: this journal has no readings of where the time goes: they come from "
            "/proc/…/schedstat. Measure the study again, on Linux"
        )
    raise UsageError(f"explain: {study.attributions[0].name}: {study.attributions[0].why}")
