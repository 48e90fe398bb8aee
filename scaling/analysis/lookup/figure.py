"""One figure of a study, looked up by the name of its cell: what texts, claims and notebooks quote.

    journal = scaling.read("results/scale")
    cell = {"workload": "echo", "arm": "3.14t", "workers": 2}
    scaling.figure(journal, "throughput_per_s", cell, over={"workers": 1}).estimate

It is computed as in tables and plots: from valid runs, the last attempt at each, without A/A
duplicates, with ratios taken inside each block before their median.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from scaling.analysis.arrays import Floats, Integers
from scaling.analysis.lookup import bounds
from scaling.analysis.lookup.named_cell import AbsentCellError, changed, curve_of, named
from scaling.analysis.lookup.quantity import OVER_ONE, Quantity, Read, Runs, is_of_a_curve, quantity
from scaling.analysis.statistics.estimate import Estimate, median
from scaling.analysis.statistics.noise import NoiseFloor, noise_floor
from scaling.analysis.statistics.verdict import Margin
from scaling.analysis.table.load import Journal
from scaling.base.errors import UsageError
from scaling.base.once import once_for_each

RATIO = "×"


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure with what it rests on.

    `values` has one value for each block of the study, NaN where there is none, and `estimate` is
    their median. Ratios of this measure are judged by the study's `margin`. `what` says in words
    what it is, `study` is the name of the study that it is from. Where a latency is a bound
    (`scaling.analysis.lookup.bounds`) the values lie between `least` and `most`; else these are the
    values. A ratio of two lower bounds has no value.
    """

    values: Floats
    estimate: Estimate
    margin: Margin
    what: str
    study: str
    least: Floats
    most: Floats


def figure(
    journal: Journal,
    measure: str,
    cell: Mapping[str, object],
    over: Mapping[str, object] | None = None,
) -> Figure:
    """A measure of a cell; with `over`, its ratio to the same measure of another cell.

    `cell` names its `workload` and `workers`, and what else matters of `arm` (of a study with
    several), `loop` (asyncio), `model` (threads), `sizing` (weak) and `parameters`. `over` is the
    same cell with these fields changed; of its parameters those change that `over` names. A rate
    may be the name that the study file has for it, such as "40%".

    `measure` is a numeric column of a frame (`scaling.analysis.table.columns`), a figure of the
    workload's own, or one of `s_per_op` (1 / throughput), `speedup` and `efficiency` (over N = 1 of
    the same curve), `memory_mib` (PSS; RSS where one side has no PSS), `memory_slope_mib` (MiB for
    each extra worker, over every N of the curve with a CPU for each: no `workers` then).

    Raises:
        UsageError: no such measure, no such cell (the message has the nearest one), or several (the
            message says what to name).
    """
    sides = [named(cell), *([] if over is None else [named(changed(cell, over))])]
    if is_of_a_curve(measure):
        sides = [replace(side, workers=None) for side in sides]
    elif any(side.workers is None for side in sides):
        raise UsageError(f"{measure} is of a number of workers: name the cell's `workers`")
    study = journal.study
    curves = [curve_of(journal, side) for side in sides]
    for side, runs in zip(sides, curves, strict=True):
        if measure in OVER_ONE and not (runs["workers"] == 1).any():
            message = f"{side.text}: {measure} is over N = 1, which {study.name} does not have"
            raise AbsentCellError(message, distance=1)
    note = study.workloads.get(sides[0].workload)
    sought = quantity(measure, curves, note.operation if note else "operations")
    blocks = np.unique(journal.frame["block"])
    columns = [
        _between(sought, measure, runs, side.workers, blocks)
        for runs, side in zip(curves, sides, strict=True)
    ]
    margin = noise_of(journal).margin(sought.noise)
    what = f"{sought.words} of {sides[0].text}"
    if over is None:
        ((least, values, most),) = columns
        return Figure(values, median(values, sought.unit), margin, what, study.name, least, most)
    above, below = columns
    least, ratio, most = (_ratio(*each) for each in zip(above, reversed(below), strict=True))
    two_bounds = np.isinf(above[-1]) & np.isinf(below[-1])  # their ratio may be anything
    ratio[~np.isfinite(ratio) | two_bounds] = np.nan
    what = f"{what}, over {sides[1].part(over)}"
    return Figure(ratio, median(ratio, RATIO), margin, what, study.name, least, most)


def _between(
    sought: Quantity, measure: str, runs: Runs, workers: int | None, blocks: Integers
) -> tuple[Floats, Floats, Floats]:
    """What it is at least in each block, as measured, and at most."""

    def by_block(read: Read = sought.read) -> Floats:
        values = replace(sought, read=read).values(runs, workers)
        return np.asarray(values.reindex(blocks), np.float64)

    values = by_block()
    if not bounds.may_be_one(measure):
        return values, values, values
    most = np.where(by_block(lambda runs: bounds.has_no_most(runs, measure)) == 1, np.inf, values)
    return by_block(lambda runs: bounds.shortest_s(runs, measure)), values, most


def _ratio(above: Floats, below: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(above / below)


@once_for_each  # figures are looked up by the dozen
def noise_of(journal: Journal) -> NoiseFloor:
    """The noise floor of a study."""
    return noise_floor(journal.frame, journal.study)
