"""`scaling explain`: where the time of each cell goes, and commands of profilers for the rest."""

import json
import shlex
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.text import Text

from scaling.analysis.tables.study import Study
from scaling.base.console import say
from scaling.base.errors import UsageError
from scaling.base.models import workers_in_words
from scaling.builds.arms import parse_arm
from scaling.builds.cpython import Build
from scaling.journal.record import Cell
from scaling.report.files import read
from scaling.report.render.terminal import table
from scaling.report.view.notes import controls, warnings
from scaling.report.view.time import (
    has_readings,
    lost,
    others_grids,
    record,
    sentences,
    terms_grids,
)

MOST_EXPLAINED, MOST_ROWS = 4, 6
HOLD_S = 60
PERF_RATE_PER_S = 999  # not in step with anything that happens every millisecond
FIRST_SAMPLER = 15  # minor version of CPython
NO_SAMPLER = f"# python -m profiling.sampling begins with 3.{FIRST_SAMPLER}"


def explain(
    results: Path, console: Console, *, json_to: Console | None = None, details: bool = False
) -> None:
    """Print what the cells of the study in `results` lose against one worker, as JSON to `json_to`.

    Those of threads without the GIL that lose most are explained, other cells have a row. With
    `details` every term of every cell is printed.

    Raises:
        UsageError: there is no journal that could be read, or nothing in it can be explained.
    """
    study = read(results, console)
    every = lost(study)
    _require_readings(study, every)
    if json_to is not None:
        cells = [record(study, each) for each in every.to_dict("records")]
        document = {"study": study.line.name, "cells": cells}
        say(json_to, json.dumps(document, indent=2, ensure_ascii=False))
        return
    for warning in filter(None, (controls(study), warnings(study))):
        console.print(Text(warning, "dim"))
    explained = every if details else every[:MOST_EXPLAINED]
    rows = every[len(explained) : len(explained) + MOST_ROWS]
    for at, each in enumerate(explained.to_dict("records")):
        console.print(Text(f"\n{each['title']}", "bold"))
        for sentence in sentences(study, each["place"]):
            console.print(Text(sentence))
        for grid in terms_grids(study, each["place"]) if details or at == 0 else ():
            console.print(table(grid, console))
    for grid in others_grids(study, rows) if len(rows) else ():
        console.print(table(grid, console))
    command = f"scaling explain {shlex.quote(str(results))}"
    if not details:
        say(console, f"Every term of every cell: {command} --details")
    if (cell := cell_to_profile(study)) is not None:
        say(console, f"Functions: {command} --hold {HOLD_S} runs {in_words(cell)} for profilers:")
        for line in profiler_commands(cell, HOLD_S):
            say(console, f"  {line}")


def _require_readings(study: Study, found: pd.DataFrame) -> None:
    """Raise where no cell has figures, saying what to measure."""
    if len(found):
        return
    ns = sorted(set(study.runs["workers"]))
    if not has_readings(study.runs):
        raise UsageError(
            "explain: this journal has no readings of where the time goes: they come from "
            "/proc/…/schedstat. Measure the study again, on Linux"
        )
    if ns == [1]:
        raise UsageError(
            "explain: every run of this study is at N = 1, so nothing is lost; measure more "
            "workers, too: scaling run … --workers 1,2"
        )
    raise UsageError(
        "explain: no block has a valid run at N = 1 and at another N; measure both: "
        f"scaling run … --workers {','.join(map(str, dict.fromkeys([1, *ns])))}"
    )


# ---------------------------------------------------------------------------------------- profilers


def cell_to_profile(study: Study) -> Cell | None:
    """The cell of CPython that loses most; of threads without the GIL where there is one.

    None of a study in which only commands and other runtimes have readings.
    """
    cells = lost(study)
    commands = study.runs.loc[study.runs["outside"], "parameters"].astype(str)
    is_build = cells["arm"].map(lambda arm: isinstance(parse_arm(arm).build, Build)).astype(bool)
    found: list[Cell] = cells.loc[~cells["parameters"].isin(commands) & is_build, "cell"].tolist()
    return found[0] if found else None


def in_words(cell: Cell) -> str:
    """A cell such as `echo on uvloop, 2 threads on 3.14t`."""
    workers = workers_in_words(cell.model, cell.workers)
    return f"{cell.workload} on {cell.loop}, {workers} on {cell.arm}"


def profiler_commands(
    cell: Cell, seconds: int, python: str = "", pids: Sequence[object] = ("PID",)
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
