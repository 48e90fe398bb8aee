"""One figure of a study, found by its name: what texts, claims and notebooks quote.

    journal = scaling.read("results/scale")
    scaling.figure(journal, "throughput_per_s workload=echo arm=3.14t workers=2 over.workers=1")

It is computed as in tables and plots: from valid runs, the last attempt at each, without A/A
duplicates, with ratios taken inside each block before their median.

Besides measures of a cell these can be named: `date`, `blocks`, `runs` and `minutes` of the study;
`noise.throughput workload=echo`, by how much A/A pairs differ in a measure; `capacity`,
`capacity_per_core` and `capacity_per_gib` of a cell at the study's objective. `KINDS` has the
function that finds each; a name there that ends in a dot takes any after it.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.blocks import PSS, RSS, Series
from scaling.analysis.lookup.cells import (
    MEMORY,
    OVER,
    QUESTION,
    Fields,
    FigureName,
    cell_of,
    changed,
    is_of_a_curve,
    measure_of,
    named,
    part,
    text,
    wanted,
)
from scaling.analysis.ratios import Ratio
from scaling.analysis.results import Extent, StudyResults, extent
from scaling.analysis.served.capacity import Capacity
from scaling.analysis.statistics.estimate import RATIO, Estimate, median
from scaling.analysis.statistics.noise import COLUMNS as NOISY
from scaling.analysis.statistics.verdict import Margin, Verdict
from scaling.analysis.table.load import Journal
from scaling.base.errors import UsageError, unknown
from scaling.base.formats import percent
from scaling.study.questions import CAPACITY, CPU, P99, THROUGHPUT

# What ratios call the measures on which every study has verdicts, or what that begins with.
WITH_VERDICTS: dict[str, tuple[str, ...]] = {
    THROUGHPUT: (THROUGHPUT,),
    "speedup": (THROUGHPUT,),
    CPU: (CPU,),
    MEMORY: (PSS, RSS),
    P99: (P99,),
    "capacity": (CAPACITY.format(""),),
}


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure with what it rests on.

    `series` has one value for each block of the study, and `estimate` is their median. Ratios of
    this measure are judged by the study's `margin`. `what` says in words what it is, `study` is the
    name of the study that it is from. A ratio of two lower bounds has no value. What is no
    estimate, such as a date or a count, is `written` as texts have it.
    """

    series: Series
    estimate: Estimate
    margin: Margin
    what: str
    study: str
    written: str = ""

    @property
    def values(self) -> Floats:
        """One value for each block, NaN where there is none."""
        return self.series.values


# Figures are looked up by the dozen. Results do not refer to their journal and go with it.
_WORKED_OUT: WeakKeyDictionary[Journal, StudyResults] = WeakKeyDictionary()


def results_of(journal: Journal) -> StudyResults:
    """The results of a journal, which are worked out once."""
    if journal not in _WORKED_OUT:
        _WORKED_OUT[journal] = StudyResults.of(journal)
    return _WORKED_OUT[journal]


def figure(
    journal: Journal, measure: str, cell: Fields | None = None, over: Fields | None = None
) -> Figure:
    """A figure of a study; with `over`, the ratio of a cell to another cell in this measure.

    `measure` is its whole name (`scaling.analysis.lookup.cells`), or the name of a measure alone,
    with a `cell`. That names its `workload` and `workers`, and what else matters of `arm` (of a
    study with several), `loop` (asyncio), `model` (threads), `sizing` (weak) and `parameters`.
    `over` is the same cell with these fields changed; of its parameters those change that `over`
    names. A rate may be the name that the study file has for it, such as "40%".

    A measure of a cell is a numeric column of a frame (`scaling.analysis.table.columns`), a figure
    of the workload's own, or one of `s_per_op` (1 / throughput), `speedup` and `efficiency` (over
    N = 1 of the same curve), `memory_mib` (PSS; RSS where one side has no PSS), `memory_slope_mib`
    (MiB for each extra worker, over every N of the curve with a CPU for each: no `workers` then).

    Raises:
        UsageError: no such measure, no such cell (the message has the nearest one), or several (the
            message says what to name).
    """
    name = named(measure) if cell is None else FigureName(measure, cell, over)
    return find(results_of(journal), name)


def find(results: StudyResults, name: FigureName) -> Figure:
    """The figure of that name. Raises `UsageError` as `figure` does."""
    prefix, dot, _ = name.measure.partition(".")
    found = KINDS.get(name.measure) or KINDS.get(f"{prefix}{dot}") or _of_cells
    return found(results, name)


def verdicts(results: StudyResults, name: FigureName) -> list[Verdict]:
    """The verdicts of the study's comparison on a ratio: one for each question that asks for it.

    Raises:
        UsageError: no such ratio, or it is of a measure without verdicts.
    """
    over = {"workers": 1} if name.measure == "speedup" else name.over
    if over is None:
        raise UsageError(f"a verdict is on a ratio: name what it is over, as in {OVER}workers=1")
    require_verdicts(name.measure, [results])
    fields = [wanted(name.cell), wanted(changed(name.cell, over))]
    known = [each.cell for each in results.capacities] if name.measure == "capacity" else None
    of, under = (cell_of(results.blocks, each, known) for each in fields)
    found = results.ratios.where(
        name.beside.get(QUESTION),
        keep=lambda each: (each.of, each.over) == (of, under) and is_of(each, name.measure),
    )
    return [each.verdict for each in found]


def is_of(ratio: Ratio, measure: str) -> bool:
    """Whether a ratio is of a measure as it is named here."""
    begins = WITH_VERDICTS.get(measure)
    return ratio.measure.startswith(begins) if begins else ratio.measure == measure


def require_verdicts(measure: str, studies: Iterable[StudyResults]) -> None:
    """Raise `UsageError` for a measure that no question is about."""
    if measure in WITH_VERDICTS:
        return
    if not any(each.ratios.where(measure=measure) for each in studies):
        raise unknown("measure with verdicts", measure, WITH_VERDICTS)


def _of_cells(results: StudyResults, name: FigureName) -> Figure:
    """A measure of a cell, or its ratio to that of another."""
    fields, blocks = sides(name), results.blocks
    cells = [cell_of(blocks, each) for each in fields]
    sought = measure_of(blocks, name.measure, cells)
    series = [sought.series(blocks, each) for each in cells]
    margin = results.floor.margin(sought.noise)
    return _figure(
        results, name, series, sought.unit, margin, f"{sought.words} of {text(fields[0])}"
    )


def sides(name: FigureName) -> list[Fields]:
    """What the fields of the cell must be, and those of the one that it is divided by.

    Raises:
        UsageError: a field that no cell has, a value of another kind, or one is missing.
    """
    cells = [name.cell, *([] if name.over is None else [changed(name.cell, name.over)])]
    fields: list[Fields] = [wanted(each) for each in cells]
    if is_of_a_curve(name.measure):
        return [{n: value for n, value in each.items() if n != "workers"} for each in fields]
    if any("workers" not in each for each in fields):
        raise UsageError(f"{name.measure} is of a number of workers: name the cell's `workers`")
    return fields


def _figure(
    results: StudyResults,
    name: FigureName,
    of: Sequence[Series],
    unit: str,
    margin: Margin,
    what: str,
) -> Figure:
    """That of one side, or the ratio of two."""
    study, (above, *below) = results.study.name, of
    if name.over is None or not below:
        return Figure(above, median(above.values, unit), margin, what, study)
    (under,) = below
    ratio = above.over(under)
    over = part(
        wanted(changed(name.cell, name.over)) | {"parameters": name.over.get("parameters", {})},
        name.over,
    )
    return Figure(ratio, median(ratio.values, RATIO), margin, f"{what}, over {over}", study)


def _fact(results: StudyResults, name: FigureName, value: Estimate, written: str = "") -> Figure:
    """One value of a whole study or of a single run."""
    series, margin = Series.exact(np.array([value.point])), Margin(results.floor.share)
    return Figure(series, value, margin, name.measure, results.study.name, written)


# ------------------------------------------------------------------------------ of a whole study

OF_A_STUDY: Mapping[str, Callable[[Extent], float]] = {
    "blocks": lambda found: found.blocks,
    "runs": lambda found: found.runs,
    "minutes": lambda found: max(1, round(found.minutes)),
}


def _of_study(results: StudyResults, name: FigureName) -> Figure:
    name.take_no_cell("a whole study")
    found = extent(results)
    if name.measure != "date":
        value = OF_A_STUDY[name.measure](found)
        return _fact(results, name, median([value], ""), f"{value:,}")
    if not found.date:
        raise UsageError("the journal has no date")
    return _fact(results, name, median([], ""), found.date)


def _noise(results: StudyResults, name: FigureName) -> Figure:
    measure = name.measure.removeprefix("noise.")
    if measure not in NOISY:
        raise unknown("measure", measure, NOISY, where="noise.")
    if name.cell.keys() != {"workload"} or name.over:
        raise UsageError(f"{name.measure} is of a workload alone: write workload=NAME")
    spread = results.floor.of(str(name.cell["workload"]), measure)
    if math.isnan(spread):
        raise UsageError("the study has no A/A pair that has it")
    return _fact(results, name, median([spread], ""), percent(spread))


# ------------------------------------------------------------------------------ capacities

OF_A_CAPACITY: Mapping[str, Callable[[Capacity], Estimate]] = {
    "capacity": lambda found: found.estimate,
    "capacity_per_core": lambda found: found.per_core,
    "capacity_per_gib": lambda found: found.per_gib,
}


def _capacity(results: StudyResults, name: FigureName) -> Figure:
    """That at the one objective of a study, or its ratio to that of another cell."""
    if name.over is not None and name.measure != "capacity":
        raise UsageError(f"{name.measure} has no ratio: quote that of the capacity")
    fields = sides(name)
    found = [_one_capacity(results, each) for each in fields]
    measure = CAPACITY.format(found[0].objective.text)
    series = [results.blocks.series(each.cell, measure) for each in found]
    margin = results.blocks.margin(measure)
    what = f"{name.measure.replace('_', ' ')} of {text(fields[0])}"
    of = _figure(results, name, series, "requests/s", margin, what)
    if name.over is not None:
        return of
    return replace(of, estimate=OF_A_CAPACITY[name.measure](found[0]))


def _one_capacity(results: StudyResults, fields: Fields) -> Capacity:
    """The one capacity of a cell.

    Raises:
        UsageError: none, several, or it is only a bound.
    """
    if not results.capacities:
        raise UsageError("the study has no capacity: it states no objective, or has no rates")
    cell = cell_of(results.blocks, fields, [each.cell for each in results.capacities])
    found = [each for each in results.capacities if each.cell == cell]
    if len(found) != 1:
        raise UsageError(
            f"the study has {len(found)} capacities of {text(fields)}, one for each objective"
        )
    if found[0].bound:
        raise UsageError(f"a capacity is only a bound ({found[0].text}): quote it by hand")
    return found[0]


# By the names of measures, or what these begin with.
KINDS: Mapping[str, Callable[[StudyResults, FigureName], Figure]] = {
    **dict.fromkeys(("date", *OF_A_STUDY), _of_study),
    "noise.": _noise,
    **dict.fromkeys(OF_A_CAPACITY, _capacity),
}
