"""The tables of a comparison, a function for each question: one or none, where nothing is known."""

from itertools import groupby

from scaling.analysis.comparison.baseline import BaselineRatio
from scaling.analysis.comparison.break_even import BreakEven
from scaling.analysis.comparison.build_differences import build_differences_of
from scaling.analysis.comparison.compare import Compared
from scaling.analysis.comparison.contrast import Contrast
from scaling.analysis.comparison.ladder import Ladder
from scaling.analysis.comparison.paired import Configuration
from scaling.base import formats
from scaling.base.vocabulary import MODELS
from scaling.journal.record import StudyLine
from scaling.report.tables.grid import Cell, Grid

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


def ladder_grids(ladders: list[Ladder]) -> list[Grid]:
    """One table for ladders that have the same rungs."""

    def rungs(ladder: Ladder) -> list[str]:
        return [configuration.arm for configuration in ladder.configurations]

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
            product = formats.number(ladder.product) + ("" if ladder.multiplies_out else " !")
            whole: list[Cell] = [*factors, product] if len(factors) > 1 else []
            rows.append([str(ladder.workers), ladder.headline, *whole])
        note = ""
        if not all(ladder.multiplies_out for ladder in members):
            note = "! the medians do not multiply to the headline: factors vary between blocks"
        grids.append(Grid(title, headings, rows, note=note))
    return grids


def rival_grids(baseline_ratios: list[BaselineRatio]) -> list[Grid]:
    """Threads and interpreters over processes; none where nothing was held against them."""
    if not baseline_ratios:
        return []
    rows: list[list[Cell]] = [
        [
            str(r.workers),
            _configuration(r.ours),
            _configuration(r.theirs),
            r.throughput,
            r.cpu_s_per_op,
            r.memory,
        ]
        for r in baseline_ratios
    ]
    kinds = {f"{r.memory_kind} over {r.memory_kind}" for r in baseline_ratios}
    note = f"Memory is {' or '.join(sorted(kinds))}. Of several arms, the one over is the fastest."
    headings = ["N", "ours", "over", "throughput", "CPU per op", "memory"]
    return [Grid("Over as many processes", headings, rows, words=3, note=note)]


def even_grid(found: BreakEven) -> Grid:
    """Threads at each N over the best single worker."""
    rows: list[list[Cell]] = [[str(n), ratio] for n, ratio in found.ratios.items()]
    title = f"Threads on {found.arm} over one worker on {found.single.arm} ({found.single.model})"
    return Grid(title, ["N", "throughput"], rows)


def version_grids(versions: list[Contrast], study: StudyLine) -> list[Grid]:
    """Each version over the oldest, with what their builds differ in besides."""
    if not versions:
        return []
    besides = [build_differences_of(study, (each.of.arm, each.over.arm)) for each in versions]
    rows: list[list[Cell]] = []
    for each, found in zip(versions, besides, strict=True):
        differing = ", ".join(one.fact for one in found) or "nothing else"
        configurations = [
            str(each.of.workers),
            _configuration(each.of),
            _configuration(each.over),
            differing,
        ]
        rows.append([*configurations, each.throughput, each.cpu_s_per_op])
    note = "Not comparable where builds differ in more: that is in the ratio, too."
    headings = ["N", "version", "over", "builds differ in", "throughput", "CPU per op"]
    return [Grid("What the versions changed", headings, rows, 4, note if any(besides) else "")]


def collector_grids(collectors: list[Contrast]) -> list[Grid]:
    """Each arm without the garbage collector over the same with it."""
    rows: list[list[Cell]] = [
        [
            str(each.of.workers),
            _configuration(each.of),
            _configuration(each.over),
            each.throughput,
            each.cpu_s_per_op,
        ]
        for each in collectors
    ]
    headings = ["N", "without", "over", "throughput", "CPU per op"]
    return [Grid("What the garbage collector costs", headings, rows, 3)] if rows else []


def loop_grids(loops: list[Contrast]) -> list[Grid]:
    """Each loop over asyncio, the rest alike."""
    rows: list[list[Cell]] = [
        [
            str(each.of.workers),
            each.of.loop,
            _configuration(each.of),
            each.throughput,
            each.cpu_s_per_op,
        ]
        for each in loops
    ]
    headings = ["N", "loop", "on", "throughput", "CPU per op"]
    elsewhere = any(each.of.loop.startswith(OTHER_LIBRARIES) for each in loops)
    note = ANOTHER_LIBRARY if elsewhere else ""
    return [Grid("What the loop changed: over asyncio", headings, rows, 3, note)] if rows else []


def runtime_grids(runtimes: list[Contrast]) -> list[Grid]:
    """Each runtime that is no Python over one that is."""
    rows: list[list[Cell]] = [
        [
            str(each.of.workers),
            each.of.arm,
            f"{_configuration(each.over)}\n{each.over.loop}",
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
        [arm, *(slopes.get((arm, model), formats.BLANK) for model in models)]
        for arm in compared.runs.arms
        if any((arm, model) in slopes for model in models)
    ]
    if not rows:
        return []

    def kinds(model: str) -> str:
        return "/".join(sorted({c.memory_kind for c in curves if c.key.model == model}))

    headings = ["arm", *(f"{model}, {kinds(model)}" for model in models)]
    return [Grid("MiB per extra worker", headings, rows)]


def _configuration(configuration: Configuration) -> str:
    return f"{configuration.arm}\n{configuration.model}"
