"""`scaling explain`: where the time of several workers goes, and commands of profilers."""

import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.text import Text

from scaling.analysis.stacks import NS_PER_S
from scaling.analysis.table.time_terms import TERMS, WHOLE, Term
from scaling.analysis.tables.cells import cell_name
from scaling.analysis.tables.derived import FACTOR, LOSS, MACHINE, SHARING, merged
from scaling.analysis.tables.study import Study
from scaling.base.console import say
from scaling.base.errors import UsageError
from scaling.base.formats import listed, number, percent
from scaling.base.models import workers_in_words
from scaling.builds.arms import parse_arm
from scaling.builds.cpython import Build
from scaling.journal.record import Cell
from scaling.report.files import read
from scaling.report.render.grid import Grid, Heading
from scaling.report.render.terminal import table
from scaling.report.view.declare import Row, Table, fact, figure, interval_text, plain
from scaling.report.view.notes import controls, warnings
from scaling.report.view.tables import OF
from scaling.study.presets import FEWEST_FOR_INTERVAL, MARGIN

IDEAL = 1 / (1 + MARGIN)  # an efficiency that is no loss
FEWEST_WAITS = 0.005  # smallest share of a call among the samples that is shown
TOTAL, EFFICIENCY = LOSS.format(WHOLE.name), FACTOR.format(WHOLE.name)
MOST_EXPLAINED, MOST_ROWS = 4, 6
HOLD_S = 60
PERF_RATE_PER_S = 999  # not in step with anything that happens every millisecond
FIRST_SAMPLER = 15  # minor version of CPython
NO_SAMPLER = f"# python -m profiling.sampling begins with 3.{FIRST_SAMPLER}"

OTHERS = Table(
    "Other cells, largest loss first",
    rows=OF,
    columns=(
        figure(Heading("efficiency"), EFFICIENCY),
        figure(Heading("lost, ns/op"), TOTAL),
        fact(Heading("largest part", left=True), "largest"),
    ),
)
OF_TERMS = Table(
    "",
    rows={"": ("term",)},
    columns=(
        figure(Heading("lost, ns/op"), "loss"),
        figure(Heading("× of the efficiency"), "factor"),
    ),
)


def lost(study: Study) -> pd.DataFrame:
    """The cells at N > 1 with readings: threads without the GIL first, least efficient first.

    Columns: those of `cells`; `place`; `title`, such as `echo · uvloop · 3.14t · threads · N = 2`;
    `largest`, the words of the largest proven loss, empty unless the cell misses its ideal by more
    than the margin. Controls come last, and so do cells with more workers than CPUs, which mostly
    wait for a CPU.
    """
    cells = study.cells[~study.cells["twin"]]
    found = cells[[study.estimate(place, TOTAL) is not None for place in cells.index]]
    efficiencies = [study.estimate(place, EFFICIENCY) for place in found.index]
    largest = [largest_loss(study, place) for place in found.index]
    without_gil = found["arm"].map(lambda arm: parse_arm(arm).without_gil).astype(bool)
    found = found.assign(
        place=found.index,
        title=[cell_name(row) for row in found.to_dict("records")],
        largest=[term.words if term else "" for term in largest],
        is_last=found["control"] | (found["region"] == "oversubscribed"),
        is_other=(found["model"] != "threads") | ~without_gil,
        efficiency=[each["point"] if each else np.inf for each in efficiencies],
    )
    return found.sort_values(["is_last", "is_other", "efficiency"], kind="stable")


def largest_loss(study: Study, place: int) -> Term | None:
    """The largest proven loss of a cell; None if the cell may reach its ideal."""
    efficiency = study.estimate(place, EFFICIENCY)
    if not efficiency or efficiency["n"] < FEWEST_FOR_INTERVAL or efficiency["high"] >= IDEAL:
        return None
    proven = {
        term: row["point"]
        for term in TERMS
        if (row := study.estimate(place, LOSS.format(term.name))) and row["low"] > 0
    }
    return max(proven, key=proven.__getitem__, default=None)


def waits(study: Study, place: int) -> dict[str, float]:
    """The mean share of each call among the samples of a cell's runs, the most frequent first."""
    rows = study.measures.places[:, place]
    samples = [each for each in study.runs["waits"].iloc[rows[rows >= 0]] if each]
    shares = pd.DataFrame(samples, dtype=np.float64).fillna(0.0).mean()
    ordered = shares.sort_values(ascending=False, kind="stable")
    return {str(name): float(share) for name, share in ordered.items()}


def sentences(study: Study, place: int) -> Iterator[str]:
    """The efficiency of a cell, its largest loss with the cause, and the machine's part."""
    cell: Row = study.cells.loc[place].to_dict()
    whole = study.estimate(place, TOTAL)
    efficiency, largest = study.estimate(place, EFFICIENCY), largest_loss(study, place)
    who = f"{workers_in_words(cell['model'], cell['workers'])} on {cell['arm']}"
    assert whole is not None
    lost_ns = f"{_ns(whole)} ns of worker time per operation"
    if efficiency is None:
        yield f"At this rate {who} take {lost_ns} more than one worker."
    else:
        times = number(cell["workers"] * efficiency["point"])
        share = interval_text(efficiency, "point")
        yield f"{who} do {times} times the work of one: efficiency {share}."
        yield f"What is lost: {lost_ns}."
        if largest is None:
            yield _without_cause(efficiency)
    if largest is not None:
        yield from _of_largest(study, place, largest, whole)
    machine, sharing = (study.estimate(place, each) for each in (MACHINE, SHARING))
    if machine and sharing:
        yield (
            f"As many processes lose {_ns(machine)} ns: the machine's part. "
            f"Sharing a process costs {_ns(sharing)} ns."
        )
    if merged(study.measures)[place]:
        yield "Calls could not be sampled: the idle time includes blocked time and the rest."


def _of_largest(study: Study, place: int, largest: Term, whole: Row) -> Iterator[str]:
    row = study.estimate(place, LOSS.format(largest.name)) or {}
    share = percent(row["point"] / whole["point"])
    yield f"The largest part is {largest.words}, {_ns(row)} ns ({share}): {largest.cause}."
    calls = [
        f"{name} ({percent(share)})"
        for name, share in waits(study, place).items()
        if share >= FEWEST_WAITS
    ]
    if largest.name == "blocked" and calls:
        yield f"Blocked in: {listed(calls)}."


def _ns(row: Row) -> str:
    """`4,200 (3,900–4,500)`."""
    return str(interval_text(row, "point", NS_PER_S))


def _without_cause(efficiency: Row) -> str:
    """Reason no loss is named."""
    if efficiency["n"] < FEWEST_FOR_INTERVAL:
        return f"Too few blocks to name a cause ({efficiency['n']} of {FEWEST_FOR_INTERVAL})."
    if efficiency["low"] >= IDEAL:
        return f"Nothing is lost beyond the margin of {percent(MARGIN)}."
    return "No loss is proven: more blocks may decide it."


def terms_grids(study: Study, place: int) -> Iterator[Grid]:
    """A row for each term of a cell and for the whole: loss in ns per operation, and factor."""
    rows = []
    for term in (*TERMS, WHOLE):
        for kind, name, factor in (("loss", LOSS, NS_PER_S), ("factor", FACTOR, 1.0)):
            if row := study.estimate(place, name.format(term.name)):
                figures = {end: factor * row[end] for end in ("point", "low", "high")}
                rows.append({**row, **figures, "measure": kind, "term": term.words})
    title = cell_name(study.cells.loc[place].to_dict())
    yield from replace(OF_TERMS, title=title).grids(study, pd.DataFrame(rows))


def others_grids(study: Study, cells: pd.DataFrame) -> Iterator[Grid]:
    """A row for each cell of `lost`: its efficiency, its loss, and the largest part."""
    rows = [
        {**cell, **row}
        for cell in cells.to_dict("records")
        for measure in (EFFICIENCY, TOTAL)
        if (row := study.estimate(cell["place"], measure))
    ]
    yield from OTHERS.grids(study, pd.DataFrame(rows))


def record(study: Study, cell: Row) -> dict[str, Any]:
    """A row of `lost` for JSON; unknown values are null."""
    place = cell["place"]
    about = ("workload", "sizing", "loop", "arm", "model", "workers")
    whole, largest = study.estimate(place, TOTAL), largest_loss(study, place)

    def of(measure: str, factor: float = 1.0) -> dict[str, float] | None:
        row = study.estimate(place, measure)
        ends = {"value": "point", "low": "low", "high": "high"}
        return {name: factor * row[end] for name, end in ends.items()} if row else None

    terms = {term.name: of(LOSS.format(term.name), NS_PER_S) for term in TERMS}
    factors = {term.name: of(FACTOR.format(term.name)) for term in TERMS}
    return {
        "cell": cell["title"],
        **plain({name: cell[name] for name in about}),
        "parameters": dict(cell["cell"].parameters),
        "blocks": whole["n"] if whole else 0,
        "terms_ns": terms | {"total": of(TOTAL, NS_PER_S)},
        "factors": factors | {"efficiency": of(EFFICIENCY)},
        "largest": largest.name if largest else None,
        "machine_ns": of(MACHINE, NS_PER_S),
        "sharing_ns": of(SHARING, NS_PER_S),
        "waits": waits(study, place),
        "sentence": " ".join(sentences(study, place)),
    }


def explain(
    results: Path, console: Console, *, json_to: Console | None = None, details: bool = False
) -> None:
    """Print the losses of the cells in `results` against one worker; with `json_to` as JSON there.

    The cells that lose most are explained, of threads without the GIL first; other cells have a
    row. With `details` every term of every cell is printed.

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
    if (cell := cell_to_profile(study, every)) is not None:
        say(console, f"Functions: {command} --hold {HOLD_S} runs {in_words(cell)} for profilers:")
        for line in profiler_commands(cell, HOLD_S):
            say(console, f"  {line}")


def _require_readings(study: Study, found: pd.DataFrame) -> None:
    """Raise `UsageError` with what to measure if no cell has readings."""
    if len(found):
        return
    ns = sorted(set(study.runs["workers"]))
    if study.runs[WHOLE.column].isna().all():
        raise UsageError(
            "explain: this journal has no readings of the workers' time, which come from "
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


def cell_to_profile(study: Study, cells: pd.DataFrame) -> Cell | None:
    """The cell of CPython that loses most, preferably of threads without the GIL, by `lost`.

    None if only commands and other runtimes have readings.
    """
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
