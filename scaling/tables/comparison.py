"""The comparison as chapters of words and tables, before it is known how they will be shown.

A cell is a text or an `Estimate`, a ratio one with its verdict; the terminal and Markdown make of
it what they can.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

import pandas as pd

from scaling import wording
from scaling.analysis.across import Across, Change
from scaling.analysis.alike import unlike, unlike_of
from scaling.analysis.break_even import BreakEven
from scaling.analysis.comparison import Compared, compare_ways
from scaling.analysis.controls import soundness
from scaling.analysis.estimate import Estimate
from scaling.analysis.held import Held
from scaling.analysis.ladder import Ladder
from scaling.analysis.paired import Way
from scaling.analysis.rivals import Rivalry
from scaling.analysis.sections import blemishes
from scaling.journal.record import StudyLine
from scaling.study.scaled import scaled_to
from scaling.tables.loop_sentences import across_loops
from scaling.tables.measures import SUSPECT, again, curve_name
from scaling.tables.sentences import (
    answers,
    basis,
    changed,
    doubted,
    floors,
    floors_across,
    states,
)
from scaling.words import MODELS

type Cell = str | Estimate

OTHER_LIBRARIES = ("trio", "anyio")  # than asyncio, as the names of their loops begin
ANOTHER_LIBRARY = (
    "With trio or anyio the program is written for that library: the ratio is of both, library and "
    "loop."
)
ANOTHER_RUNTIME = (
    "Runtimes differ in everything (language, compiler, scheduler, memory), and each has a program "
    "of its own for the same work: no ratio is of one thing alone. Their CPU time is that of the "
    "whole process; of Python it is that of the workers' threads."
)


@dataclass(frozen=True, slots=True)
class Grid:
    """One table. Columns of figures stand to the right, `words` says how many do not."""

    title: str
    headings: list[str]
    rows: list[list[Cell]]
    words: int = 1
    note: str = ""


@dataclass(frozen=True, slots=True)
class Chapter:
    """A heading, what it comes to in words, and the tables that bear it out."""

    title: str
    words: list[str]
    grids: list[Grid] = field(default_factory=list)


def chapters(
    frame: pd.DataFrame,
    study: StudyLine,
    compared: Sequence[Compared] | None = None,
    *,
    alone: bool = True,
) -> list[Chapter]:
    """A study's comparison: first what casts doubt on all of it, then its chapters.

    There is one per section and loop, and after those of a section one across its loops.
    `compared` is what `compare_ways` made of it, worked out here if it is not given. `alone` is
    False where it stands with a study's other tables, which tell of the controls.
    """
    ways = compare_ways(frame, study) if compared is None else compared
    found = [_chapter(each, study) for each in ways]
    told = [chapter for chapter in found if chapter.grids]
    warnings = warnings_of(frame, study) if alone else doubts(study)
    return [Chapter("Before you read on", warnings), *told] if told and warnings else told


def warnings_of(frame: pd.DataFrame, study: StudyLine) -> list[str]:
    """What casts doubt on all of a study: its controls, its scale, then `doubts`."""
    told = (soundness(frame, study).text, scaled_to(study.study))
    return [*filter(None, told), *doubts(study)]


def doubts(study: StudyLine) -> list[str]:
    """That builds differ in more than the thing compared, if they do."""
    differing = "; ".join(map(str, unlike(study)))
    return [f"The builds differ in more than what is compared: {differing}."] if differing else []


def _chapter(compared: Compared, study: StudyLine) -> Chapter:
    grids = [
        *ladder_grids(compared.ladders),
        *rival_grids(compared.rivalries),
        *(even_grid(each) for each in compared.break_evens),
        *version_grids(compared.versions, study),
        *collector_grids(compared.collectors),
        *loop_grids(compared.loops),
        *runtime_grids(compared.runtimes),
        *([] if compared.is_across_loops else memory_grids(compared)),
    ]
    shown = [cell for g in grids for row in g.rows for cell in row if isinstance(cell, Estimate)]
    points = [point for curve in compared.runs.curves for point in curve.points]
    told = [*answers(compared), *across_loops(compared)]
    words = [*told, basis(shown), *floors(compared), *states(compared), *again(points)]
    return Chapter(compared.runs.title, words, grids)


def ladder_grids(ladders: list[Ladder]) -> list[Grid]:
    """One table for ladders that have the same rungs."""

    def rungs(ladder: Ladder) -> list[str]:
        return [way.arm for way in ladder.ways]

    grids = []
    for names, group in groupby(ladders, rungs):
        members = list(group)
        headings = ["N", f"{names[-1]} over {names[0]}"]
        steps = [step.name for step in members[0].steps]
        title = f"What freed the speed of threads: {' → '.join(names)}"
        if len(steps) > 1:
            headings += [f"= {steps[0]}", *(f"× {name}" for name in steps[1:]), "product"]
        else:
            title += f" ({steps[0]})"
        rows: list[list[Cell]] = []
        for ladder in members:
            factors = [step.factor for step in ladder.steps]
            product = wording.number(ladder.product) + ("" if ladder.multiplies_out else " !")
            whole: list[Cell] = [*factors, product] if len(factors) > 1 else []
            rows.append([str(ladder.workers), ladder.headline, *whole])
        note = ""
        if not all(ladder.multiplies_out for ladder in members):
            note = "! the medians do not multiply to the headline: factors vary between blocks"
        grids.append(Grid(title, headings, rows, note=note))
    return grids


def rival_grids(rivalries: list[Rivalry]) -> list[Grid]:
    """Threads and interpreters over processes; none where nothing was held against them."""
    if not rivalries:
        return []
    rows: list[list[Cell]] = [
        [str(r.workers), _way(r.ours), _way(r.theirs), r.throughput, r.cpu_s_per_op, r.memory]
        for r in rivalries
    ]
    kinds = {f"{r.memory_kind} over {r.memory_kind}" for r in rivalries}
    note = f"Memory is {' or '.join(sorted(kinds))}. Of several arms, the one over is the fastest."
    headings = ["N", "ours", "over", "throughput", "CPU per op", "memory"]
    return [Grid("Over as many processes", headings, rows, words=3, note=note)]


def even_grid(found: BreakEven) -> Grid:
    """Threads at each N over the best single worker."""
    rows: list[list[Cell]] = [[str(n), ratio] for n, ratio in found.ratios.items()]
    title = f"Threads on {found.arm} over one worker on {found.single.arm} ({found.single.model})"
    return Grid(title, ["N", "throughput"], rows)


def version_grids(versions: list[Held], study: StudyLine) -> list[Grid]:
    """Each version over the oldest, with what their builds differ in besides."""
    if not versions:
        return []
    besides = [unlike_of(study, (each.of.arm, each.over.arm)) for each in versions]
    rows: list[list[Cell]] = []
    for each, found in zip(versions, besides, strict=True):
        differing = ", ".join(one.fact for one in found) or "nothing else"
        ways = [str(each.of.workers), _way(each.of), _way(each.over), differing]
        rows.append([*ways, each.throughput, each.cpu_s_per_op])
    note = "Not comparable where builds differ in more: that is in the ratio, too."
    headings = ["N", "version", "over", "builds differ in", "throughput", "CPU per op"]
    return [Grid("What the versions changed", headings, rows, 4, note if any(besides) else "")]


def collector_grids(collectors: list[Held]) -> list[Grid]:
    """Each arm without the garbage collector over the same with it."""
    rows: list[list[Cell]] = [
        [str(each.of.workers), _way(each.of), _way(each.over), each.throughput, each.cpu_s_per_op]
        for each in collectors
    ]
    headings = ["N", "without", "over", "throughput", "CPU per op"]
    return [Grid("What the garbage collector costs", headings, rows, 3)] if rows else []


def loop_grids(loops: list[Held]) -> list[Grid]:
    """Each loop over asyncio, the rest alike."""
    rows: list[list[Cell]] = [
        [str(each.of.workers), each.of.loop, _way(each.of), each.throughput, each.cpu_s_per_op]
        for each in loops
    ]
    headings = ["N", "loop", "on", "throughput", "CPU per op"]
    elsewhere = any(each.of.loop.startswith(OTHER_LIBRARIES) for each in loops)
    note = ANOTHER_LIBRARY if elsewhere else ""
    return [Grid("What the loop changed: over asyncio", headings, rows, 3, note)] if rows else []


def runtime_grids(runtimes: list[Held]) -> list[Grid]:
    """Each runtime that is no Python over one that is."""
    rows: list[list[Cell]] = [
        [
            str(each.of.workers),
            each.of.arm,
            f"{_way(each.over)}\n{each.over.loop}",
            each.throughput,
            each.cpu_s_per_op,
        ]
        for each in runtimes
    ]
    headings = ["N", "runtime", "over", "throughput", "CPU per op"]
    title = "Other runtimes over Python"
    return [Grid(title, headings, rows, 3, ANOTHER_RUNTIME)] if rows else []


def memory_grids(compared: Compared) -> list[Grid]:
    """What an extra worker takes, by arm and model; none where no memory is known."""
    curves = [curve for curve in compared.runs.curves if curve.slope.n]
    models = [model for model in MODELS if any(c.key.model == model for c in curves)]
    slopes = {(c.key.arm, c.key.model): c.slope for c in curves}
    rows: list[list[Cell]] = [
        [arm, *(slopes.get((arm, model), wording.BLANK) for model in models)]
        for arm in compared.runs.arms
        if any((arm, model) in slopes for model in models)
    ]
    if not rows:
        return []

    def kinds(model: str) -> str:
        return "/".join(sorted({c.memory_kind for c in curves if c.key.model == model}))

    headings = ["arm", *(f"{model}, {kinds(model)}" for model in models)]
    return [Grid("MiB per extra worker", headings, rows)]


def across_chapters(found: Across, then: str, now: str) -> list[Chapter]:
    """Two studies side by side: a table for each section; `then` and `now` name them."""

    def title(change: Change) -> str:
        return change.section.title

    studies = ((then, found.then), (now, found.now))
    words = [f"{name}: {each}" for name, study in studies for each in warnings_of(*study)]
    words += changed(found)
    words += [each for name, (frame, _) in studies for each in doubted(name, blemishes(frame))]
    opening = Chapter(f"{now} over {then}", words)
    told = []
    for heading, group in groupby(found.changes, title):
        members = list(group)
        rows: list[list[Cell]] = [[_curve(c), str(c.workers), *_figures(c)] for c in members]
        unit = f"{members[0].section.operation}/s"
        headings = ["curve", "N", f"{unit} then", "now", "ratio", "memory"]
        grid = Grid("", headings, rows, 2, _across_note(members))
        told.append(Chapter(heading, floors_across(members), [grid]))
    return [opening, *told]


def _across_note(changes: list[Change]) -> str:
    """What the marks and blanks of a table across studies mean."""
    told = ["Runs are told as then, now."]
    if any(point.suspect for c in changes for point in (c.then, c.now)):
        told.append(f"{SUSPECT} some of them are suspect: see above.")
    if any(len(set(c.memory_kinds)) > 1 for c in changes):
        told.append("Memory is blank where one study has PSS and the other RSS.")
    return " ".join(told)


def _curve(change: Change) -> str:
    """Loop, arm and model, and `8, 8? runs`: how many then and now, of the latter some suspect."""
    counts = (f"{p.runs}{SUSPECT if p.suspect else ''}" for p in (change.then, change.now))
    return f"{curve_name(change.curve)} · {', '.join(counts)} runs".replace(" · ", "\n")


def _figures(change: Change) -> list[Cell]:
    then, now = change.then.throughput, change.now.throughput
    return [then, now, change.throughput, change.memory]


def _way(way: Way) -> str:
    return f"{way.arm}\n{way.model}"
