"""Arms, loops, runtimes and versions of Python over one another."""

from collections.abc import Callable, Iterator
from itertools import groupby

from scaling.analysis.comparison import (
    Compared,
    Ladder,
    VersionLines,
    VersionPoint,
    ladders,
    version_lines,
)
from scaling.analysis.ratios import Ratio
from scaling.analysis.soundness import build_differences_of
from scaling.analysis.statistics.estimate import median
from scaling.base import formats
from scaling.base.vocabulary import THREADS
from scaling.builds.arms import free_arms
from scaling.report.tables.findings import (
    Finding,
    Question,
    at_headline_n,
    contrast_findings,
    contrast_grids,
    named,
    of_and_over,
    stacked,
    workers,
)
from scaling.report.tables.grid import Cell, Grid
from scaling.study.questions import CPU, THROUGHPUT

NOT_THE_PRODUCT = "! The medians do not multiply to the whole ratio: factors vary between blocks."


def ladder_grids(compared: Compared) -> list[Grid]:
    """One table for ladders that have the same rungs."""

    def rungs(ladder: Ladder) -> list[str]:
        return [cell.arm for cell in ladder.cells]

    return [_ladder_grid(names, list(group)) for names, group in groupby(ladders(compared), rungs)]


def _ladder_grid(names: list[str], alike: list[Ladder]) -> Grid:
    headings = ["N", f"{names[-1]} over {names[0]}"]
    steps = [step.name for step in alike[0].steps]
    title = f"What freed the speed of threads: {' → '.join(names)}"
    if len(steps) > 1:
        headings += [f"= {steps[0]}", *(f"× {name}" for name in steps[1:]), "product"]
    else:
        title += f" ({steps[0]})"
    rows: list[list[Cell]] = []
    for ladder in alike:
        product = formats.number(ladder.product) + ("" if ladder.multiplies_out else " !")
        whole: list[Cell] = [*ladder.steps, product] if len(ladder.steps) > 1 else []
        rows.append([str(ladder.workers), ladder.headline, *whole])
    note = "" if all(ladder.multiplies_out for ladder in alike) else NOT_THE_PRODUCT
    return Grid(title, headings, rows, note=note)


def _ladder_findings(compared: Compared) -> list[Finding]:
    n = compared.headline_n
    return [each for ladder in ladders(compared) if ladder.workers == n for each in _of_one(ladder)]


def _of_one(ladder: Ladder) -> Iterator[Finding]:
    top, bottom = ladder.top, ladder.bottom
    notes = []
    if ladder.missing:
        notes.append(f"Without {formats.listed(ladder.missing)} the steps cannot be separated.")
    if not ladder.multiplies_out:
        notes.append(
            f"The medians of the steps multiply to {formats.number(ladder.product)}, outside the "
            "bounds of the whole ratio: the steps vary between blocks."
        )
    changed = f" ({ladder.steps[0].name})" if len(ladder.steps) == 1 else ""
    question = f"{workers(top)} on {top.arm} over as many on {bottom.arm}{changed}"
    yield Finding(question, ladder.headline, " ".join(notes))
    if len(ladder.steps) > 1:
        for step in ladder.steps:
            steps = f"{step.over.arm} → {step.of.arm}"
            yield Finding(f"… of that, {step.name} ({steps})", step)


LADDER = Question("ladder", ("headline", "step"), ladder_grids, _ladder_findings)


# ----------------------------------------------------------------------------------------- settings
# Each arm with a setting beside the ladder over the same arm without it.


def _settings_grids(compared: Compared) -> list[Grid]:
    found = compared.ratios.where("setting")
    return contrast_grids("What a setting changes", found, ["with", "over"])


def _over_arms(question: str) -> Callable[[Compared], list[Finding]]:
    """What a question that compares arms is about first."""

    def findings(compared: Compared) -> list[Finding]:
        found = compared.ratios.where(question, keep=lambda each: each.is_headline)
        return [Finding(f"{named(each.of)} over {each.over.arm}", each) for each in found]

    return findings


SETTINGS = Question("settings", ("setting",), _settings_grids, _over_arms("setting"))


# -------------------------------------------------------------------------------------------- loops
# Each loop over asyncio, everything else equal.

OTHER_LIBRARIES = ("trio", "anyio")  # than asyncio, as the names of their loops begin
ANOTHER_LIBRARY = (
    "With trio or anyio the program is written for that library: the ratio is of both, library and "
    "loop."
)


def _loops_grids(compared: Compared) -> list[Grid]:
    found = compared.ratios.where("loop")
    elsewhere = any(each.of.loop.startswith(OTHER_LIBRARIES) for each in found)
    return contrast_grids(
        "What the loop changed: over asyncio",
        found,
        ["loop", "on"],
        lambda each: (each.of.loop, stacked(each.of)),
        note=ANOTHER_LIBRARY if elsewhere else "",
    )


def _loops_findings(compared: Compared) -> list[Finding]:
    """For each loop, threads without the GIL where there are any, else the first arm and model;
    the choice does not look at figures.
    """
    free = free_arms(compared.arms)
    ratios = compared.ratios.where("loop")
    throughput = list(ratios.where(measure=THROUGHPUT))

    def is_subject(each: Ratio) -> bool:
        return each.of.arm in free and each.of.model == "threads"

    found: list[Finding] = []
    for loop in dict.fromkeys(each.of.loop for each in throughput):
        here = [each for each in throughput if each.of.loop == loop]
        chosen = max(at_headline_n(here, compared.headline_n), key=is_subject)
        question = f"{named(chosen.of, loop=True)} over {chosen.over.loop}"
        found += contrast_findings(question, ratios, chosen)
    return found


LOOPS = Question("loops", ("loop",), _loops_grids, _loops_findings)


# ----------------------------------------------------------------------------------------- runtimes
# Each runtime that is not Python over one that is.

ANOTHER_RUNTIME = (
    "Runtimes differ in everything (language, compiler, scheduler, memory), and each has a program "
    "of its own for the same work: no ratio is of one thing alone. Their CPU time is that of the "
    "whole process; of Python it is that of the workers' threads."
)


def _runtimes_grids(compared: Compared) -> list[Grid]:
    return contrast_grids(
        "Other runtimes over Python",
        compared.ratios.where("runtime"),
        ["runtime", "over"],
        lambda each: (each.of.arm, f"{stacked(each.over)}\n{each.over.loop}"),
        note=ANOTHER_RUNTIME,
    )


def _runtimes_findings(compared: Compared) -> list[Finding]:
    ratios = compared.ratios.where("runtime")
    throughput = list(ratios.where(measure=THROUGHPUT))
    found: list[Finding] = []
    for arm in dict.fromkeys(each.of.arm for each in throughput):
        here = [each for each in throughput if each.of.arm == arm]
        for each in at_headline_n(here, compared.headline_n):
            question = f"{arm} at N = {each.of.workers} over {named(each.over, loop=True)}"
            found += contrast_findings(question, ratios, each)
    return found


RUNTIMES = Question("runtimes", ("runtime",), _runtimes_grids, _runtimes_findings)


# ----------------------------------------------------------------------------------------- versions
# Each version of Python over the oldest, with what their builds differ in besides; and what each
# build costs and gains.

MICROSECONDS = 1e6


def _versions_grids(compared: Compared) -> list[Grid]:
    versions = compared.ratios.where("version")

    def besides(each: Ratio) -> str:
        found = build_differences_of(compared.blocks.study, (each.of.arm, each.over.arm))
        return ", ".join(one.fact for one in found)

    note = "Where builds differ in more than the version, the ratio includes that difference."
    changed = contrast_grids(
        "What the versions changed",
        versions,
        ["version", "over", "builds differ in"],
        lambda each: (*of_and_over(each), besides(each) or "nothing else"),
        note=note if any(map(besides, versions)) else "",
    )
    lines = version_lines(compared) if changed else None
    return [_version_builds(lines), *changed] if lines else changed


def _version_builds(lines: VersionLines) -> Grid:
    """A row for each build: throughput, CPU time and collector at N = 1, and what more bring."""
    headings = [
        "build",
        f"N = 1 over {lines.oldest}",
        f"N = {lines.workers} over 1",
        "CPU µs per op",
        "collector µs per op",
        "MiB per extra worker",
    ]
    rows = [[point.arm, *_version_figures(lines, point)] for point in lines.points]
    return Grid("What each build costs and gains, with threads", headings, rows)


def _version_figures(lines: VersionLines, point: VersionPoint) -> list[Cell]:
    alone = lines.compared.cell(point.arm, THREADS, 1)
    curve = next(each for each in lines.compared.curves if each.key == alone.but(workers=0))
    cpu_s = lines.compared.of(alone, CPU)
    collector_s = lines.compared.of(alone, "collector_s_per_op")
    return [
        median(point.cost, ""),
        median(point.gain, ""),
        median(MICROSECONDS * cpu_s, "µs"),
        median(MICROSECONDS * collector_s, "µs"),
        curve.slope,
    ]


VERSIONS = Question("versions", ("version",), _versions_grids, _over_arms("version"))
