"""The comparison as chapters of words and tables, before it is known how they will be shown.

A cell is a text or an `Estimate`; the terminal and Markdown make of it what they can.
"""

from dataclasses import dataclass, field
from itertools import groupby

import pandas as pd

from scaling import wording
from scaling.analysis.across import Across, Change
from scaling.analysis.alike import unlike
from scaling.analysis.break_even import BreakEven, side
from scaling.analysis.comparison import Compared, compare_ways
from scaling.analysis.controls import verdict
from scaling.analysis.estimate import Estimate
from scaling.analysis.ladder import Ladder
from scaling.analysis.paired import Way
from scaling.analysis.rivals import Rivalry
from scaling.analysis.sections import MODELS
from scaling.journal.record import StudyLine
from scaling.tables.measures import curve_name
from scaling.tables.sentences import basis, changed, verdicts

type Cell = str | Estimate

SIDES = {1: "above 1", 0: "holds 1", -1: "below 1"}


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


def chapters(frame: pd.DataFrame, study: StudyLine, *, alone: bool = True) -> list[Chapter]:
    """A study's comparison: first what casts doubt on all of it, then a chapter per section.

    `alone` is False where it stands with a study's other tables, which tell of the controls.
    """
    found = [_chapter(each) for each in compare_ways(frame, study)]
    told = [chapter for chapter in found if chapter.grids]
    warnings = doubts(study)
    if alone and (controls := verdict(frame, study).text):
        warnings.insert(0, controls)
    return [Chapter("Before you read on", warnings), *told] if told and warnings else told


def doubts(study: StudyLine) -> list[str]:
    """That builds differ in more than the thing compared, if they do."""
    differing = "; ".join(map(str, unlike(study)))
    return [f"The builds differ in more than what is compared: {differing}."] if differing else []


def _chapter(compared: Compared) -> Chapter:
    grids = [
        *_ladder_grids(compared.ladders),
        *_rival_grids(compared.rivalries),
        *(_even_grid(each) for each in compared.break_evens),
        *_memory_grids(compared),
    ]
    shown = [cell for g in grids for row in g.rows for cell in row if isinstance(cell, Estimate)]
    return Chapter(compared.runs.title, [*verdicts(compared), basis(shown)], grids)


def _ladder_grids(ladders: list[Ladder]) -> list[Grid]:
    """One table for ladders that have the same rungs."""

    def rungs(ladder: Ladder) -> tuple[str, ...]:
        return *(step.before.arm for step in ladder.steps), ladder.top.arm

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


def _rival_grids(rivalries: list[Rivalry]) -> list[Grid]:
    if not rivalries:
        return []
    rows: list[list[Cell]] = [
        [str(r.workers), _way(r.ours), _way(r.theirs), r.throughput, r.cpu_s_per_op, r.memory]
        for r in rivalries
    ]
    kinds = {" over ".join(dict.fromkeys(r.memory_kinds)) for r in rivalries}
    note = f"Memory is {' or '.join(sorted(kinds))}. Of several arms, the one over is the fastest."
    headings = ["N", "ours", "over", "throughput", "CPU per op", "memory"]
    return [Grid("Over as many processes", headings, rows, words=3, note=note)]


def _even_grid(found: BreakEven) -> Grid:
    rows: list[list[Cell]] = [
        [str(n), ratio, SIDES[side(ratio)]] for n, ratio in found.ratios.items()
    ]
    title = f"Threads on {found.arm} over one worker on {found.single.arm} ({found.single.model})"
    few = any(ratio.coverage is None for ratio in found.ratios.values())
    headings = ["N", "throughput", "its range" if few else "its interval"]
    return Grid(title, headings, rows)


def _memory_grids(compared: Compared) -> list[Grid]:
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
    kinds = {c.key.model: c.memory_kind for c in curves}
    headings = ["arm", *(f"{model}, {kinds[model]}" for model in models)]
    return [Grid("MiB per extra worker", headings, rows)]


def across_chapters(found: Across, then: str, now: str) -> list[Chapter]:
    """Two studies side by side: a table for each section; `then` and `now` name them."""

    def title(change: Change) -> str:
        return change.section.title

    opening = Chapter(f"{now} over {then}", changed(found))
    told = []
    for heading, group in groupby(found.changes, title):
        members = list(group)
        rows: list[list[Cell]] = [
            [_curve(c), str(c.workers), c.then, c.now, c.throughput, c.memory] for c in members
        ]
        unit = f"{members[0].section.operation}/s"
        headings = ["curve", "N", f"{unit} then", "now", "ratio", "memory"]
        told.append(Chapter(heading, [], [Grid("", headings, rows, words=2)]))
    return [opening, *told]


def _curve(change: Change) -> str:
    curve = next(c for c in change.section.curves if c.key == change.key)
    return curve_name(curve).replace(" · ", "\n")


def _way(way: Way) -> str:
    return f"{way.arm}\n{way.model}"
