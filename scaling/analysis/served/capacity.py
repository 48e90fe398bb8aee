"""Capacity at an SLO: the highest rate at which a configuration keeps an objective.

In each block it is where a monotone fit of the percentile over the rates crosses the objective,
with no error and no backlog below (`scaling.analysis.served.capacity`); over blocks the median is
taken, with its interval. Beyond the rates that were measured a block gives a bound, which counts as
the last rate: where half of the blocks or more do, the capacity itself is a bound and is printed
as one (`≥ 4,000/s`, `< 500/s`).

Where the load generator was late, latencies are upper bounds, and so capacity is a lower one: `up
to` is where the latencies from the send cross the objective, and a verdict on a ratio must hold
between the two. Ratios of capacities are taken as all others are (`scaling.analysis.ratios`).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Protocol

import numpy as np
import pandas as pd

from scaling.analysis.arrays import Flags, Floats
from scaling.analysis.blocks import Blocks, Series
from scaling.analysis.curves import MIB
from scaling.analysis.ratios import Ratio, Ratios, ratios
from scaling.analysis.statistics.estimate import Estimate, median
from scaling.analysis.table.groups import fell_behind
from scaling.analysis.table.latency import shortest_s
from scaling.base.errors import UsageError
from scaling.base.formats import number
from scaling.journal.record import Cell, Parameters, Region, StudyLine
from scaling.study import questions
from scaling.study.load import RATE, is_open_loop
from scaling.study.objective import Objective, parse_objective
from scaling.study.questions import CAPACITY, OVER_PROCESSES, without_rate

# ----------------------------------------------------------------------------------------- crossing
# Where latency crosses an objective over the rates of one block.
#
# Latency rises with the rate, but single runs scatter, so a monotone fit comes first: isotonic
# regression (the pool-adjacent-violators algorithm) of the logarithm of the percentile over the
# rates. Between the last rate whose fit is within the objective and the first whose is not, the
# logarithm of the rate is interpolated. The highest rate of a single run that passed would
# favour lucky runs.

type Side = Literal["inside", "above", "below"]


class Crossing(NamedTuple):
    """A rate, and whether it is `inside` the grid; else it is the grid's end, and a bound.

    `above`: the objective holds at every rate, so capacity is at least the highest. `below`: it
    holds at none, so capacity is less than the lowest.
    """

    rate_per_s: float
    side: Side


def crossing(rates_per_s: Floats, latencies_s: Floats, sound: Flags, limit_s: float) -> Crossing:
    """The rate up to which the objective holds: latency within `limit_s`, and every run `sound`.

    Arrays are of shape (rates,), the rates ascending; a run is sound without errors and backlog.
    Where an unsound run comes before the crossing, the rate before that run is the capacity.

    Raises:
        ValueError: there is no rate.
    """
    from scipy.optimize import isotonic_regression  # takes longer to import than a plan to make

    if not len(rates_per_s):
        raise ValueError("a capacity needs a rate")
    fit, limit = isotonic_regression(np.log(latencies_s)).x, np.log(limit_s)
    count = len(rates_per_s)
    slow = int(np.searchsorted(fit, limit, side="right"))  # the first rate beyond the objective
    unsound = count if sound.all() else int(np.argmin(sound))
    if min(slow, unsound) == 0:
        return Crossing(float(rates_per_s[0]), "below")
    if min(slow, unsound) == count:
        return Crossing(float(rates_per_s[-1]), "above")
    if unsound < slow:
        return Crossing(float(rates_per_s[unsound - 1]), "inside")
    part = (limit - fit[slow - 1]) / (fit[slow] - fit[slow - 1])
    low, high = np.log(rates_per_s[slow - 1 : slow + 1])
    return Crossing(float(np.exp(low + part * (high - low))), "inside")


# ----------------------------------------------------------------------------------------- capacity

GIB_IN_MIB = 1024.0
UNIT = "requests/s"
SIDES = {"below": -1, "inside": 0, "above": 1}

type Bound = Literal["", "≥", "<"]


@dataclass(frozen=True, slots=True)
class Capacity:
    """The capacity of a cell without its rate at an objective, in requests/s of all its workers.

    `blocks` are the blocks that have a value, `crossings` the values of these, `at_most` those by
    latencies from the send where the load generator was late. `bound` says that the estimate is
    one: it lies outside the rates. `per_core` is per worker, each of which can have a core;
    `per_gib` is per GiB of memory at the last rate that kept the objective (PSS; RSS where one of
    the configurations that it is compared with has no PSS).
    """

    cell: Cell
    objective: Objective
    region: Region | None
    blocks: tuple[int, ...]
    crossings: tuple[Crossing, ...]
    at_most: tuple[Crossing, ...]
    estimate: Estimate
    bound: Bound
    per_core: Estimate
    per_gib: Estimate

    @property
    def text(self) -> str:
        """`1,820/s (1,790–1,850)`, `≥ 4,000/s`, `< 500/s`, `1,820/s, up to 2,050/s`."""
        rate = f"{number(self.estimate.point)}/s"
        if self.bound:
            rate = f"{self.bound} {rate}"
        elif self.estimate.bounds:
            rate = f"{rate} ({self.estimate.bounds})"
        return f"{rate}, up to {self.up_to}" if self.up_to else rate

    @property
    def most(self) -> Estimate:
        """That by latencies from the send; the estimate itself where no run was sent late."""
        return median(_rates(self.at_most), UNIT)

    @property
    def up_to(self) -> str:
        """What it may be if the lateness of the load generator is left out: `2,050/s`, `2,330/s or
        more`; empty where that is the estimate.
        """
        if self.bound == "≥" or self.at_most == self.crossings:
            return ""
        more = " or more" if _bound(self.at_most) == "≥" else ""
        return f"{number(self.most.point)}/s{more}"

    @property
    def outside(self) -> int:
        """In how many blocks it lay outside the rates."""
        return sum(each.side != "inside" for each in self.crossings)

    def series(self, every: Sequence[int]) -> Series:
        """Its values in these blocks, with what is known of the true ones."""
        empty = np.full(len(every), np.nan)
        found = Series(empty, np.zeros(len(every), np.int64), empty.copy(), empty.copy())
        at = np.searchsorted(every, self.blocks)
        sides = [SIDES[each.side] for each in self.crossings]
        beyond = [each.side == "above" for each in self.at_most]
        found.values[at] = _rates(self.crossings)
        found.side[at] = sides
        found.least[at] = np.where(np.array(sides) < 0, 0.0, _rates(self.crossings))
        found.most[at] = np.where(beyond, math.inf, _rates(self.at_most))
        return found


def capacities(blocks: Blocks, objectives: Iterable[Objective]) -> list[Capacity]:
    """The capacities of one study's cells; none without rates of an open loop."""
    groups: dict[Cell, list[Cell]] = {}
    for cell in blocks.cells:
        if is_open_loop(cell.parameters):
            groups.setdefault(without_rate(cell), []).append(cell)
    return [
        found
        for objective in objectives
        for cell, rated in groups.items()
        if (found := _capacity(blocks, cell, rated, objective)) is not None
    ]


def with_capacities(blocks: Blocks, found: Iterable[Capacity]) -> Blocks:
    """The same blocks with these capacities as measures, of cells without a rate."""
    derived: dict[str, dict[Cell, Series]] = {}
    regions = dict(blocks.regions)
    for each in found:
        measure = CAPACITY.format(each.objective.text)
        derived.setdefault(measure, {})[each.cell] = each.series(blocks.blocks.tolist())
        regions[each.cell] = each.region
    return replace(blocks, derived=derived, regions=regions)


def _capacity(
    blocks: Blocks, cell: Cell, rated: Sequence[Cell], objective: Objective
) -> Capacity | None:
    """Of one cell at the `rated` ones; None where no run has the percentile."""
    column = f"latency_{objective.percentile}_s"
    rated = sorted(rated, key=_rate)
    rates = np.array([_rate(each) for each in rated])

    def table(values: Floats) -> Floats:
        """Values of all runs as blocks × rates."""
        return np.column_stack([blocks.at(each, values) for each in rated])

    frame = blocks.frame
    latency_s, least_s = (
        table(np.asarray(values, np.float64))
        for values in (frame[column], shortest_s(frame, column))
    )
    unanswered = table(frame[["load_errors", "load_declined"]].sum(axis=1).to_numpy(np.float64))
    behind = table(fell_behind(frame).astype(np.float64))
    memory_mib = table(frame[blocks.memory_column(rated[0])].to_numpy(np.float64)) / MIB
    numbers, crossings, at_most, memory = [], [], [], []
    for row, known in enumerate(latency_s > 0):
        if not known.any():
            continue
        at = rates[known]
        sound: Flags = ~((unanswered[row, known] > 0) | (behind[row, known] > 0))
        latencies = latency_s[row, known]
        found = crossing(at, latencies, sound, objective.limit_s)
        earliest = np.minimum(latencies, least_s[row, known])
        numbers.append(int(blocks.blocks[row]))
        crossings.append(found)
        at_most.append(crossing(at, earliest, sound, objective.limit_s))
        kept = max(0, int((at <= found.rate_per_s).sum()) - 1)  # the last rate up to it
        memory.append(memory_mib[row, known][kept])
    if not numbers:
        return None
    values = _rates(crossings)
    estimate = median(values, UNIT)
    return Capacity(
        cell=cell,
        objective=objective,
        region=blocks.region(rated[0]),
        blocks=tuple(numbers),
        crossings=tuple(crossings),
        at_most=tuple(at_most),
        estimate=estimate,
        bound=_bound(crossings),
        per_core=estimate.scaled(1 / cell.workers, f"{UNIT} per core"),
        per_gib=median(values / (np.array(memory) / GIB_IN_MIB), f"{UNIT} per GiB"),
    )


def _rate(cell: Cell) -> float:
    return float(cell.parameters[RATE] or 0.0)


def _rates(crossings: Iterable[Crossing]) -> Floats:
    return np.array([each.rate_per_s for each in crossings], np.float64)


def _bound(crossings: Sequence[Crossing]) -> Bound:
    """Of the median: it is a bound where half of the values are."""
    sides = [each.side for each in crossings]
    if 2 * sides.count("above") >= len(sides):
        return "≥"
    return "<" if 2 * sides.count("below") >= len(sides) else ""


# ----------------------------------------------------------------------------------- capacity table
# `scaling.capacity`: the capacities of a study as a table for notebooks.


class Measured(Protocol):
    """A study's first line, runs and ratios: `StudyResults` has them."""

    @property
    def study(self) -> StudyLine:
        """The first line."""

    @property
    def blocks(self) -> Blocks:
        """The runs by block and cell."""

    @property
    def capacities(self) -> list[Capacity]:
        """Those at the objectives that the study states."""

    @property
    def ratios(self) -> Ratios:
        """Every ratio that the study asks for."""


def capacity(results: Measured, slo: str | Sequence[str] | None = None) -> pd.DataFrame:
    """Capacity at each objective, from `StudyResults`: requests/s of all workers together.

    A row for each configuration and objective. `slo` are objectives such as `"p99<20ms"`; None is
    for those that the study states; all ratios at others are exploratory. Columns:
    `workload`, `parameters` (JSON, without the rate), `sizing`, `loop`, `arm`, `model`, `workers`,
    `slo`; `capacity_per_s` with `_low` and `_high` (95 % interval, or range below six blocks), `n`
    blocks, `outside` of which lie outside the rates; `bound`: `≥` or `<` where the capacity itself
    does; `most_per_s`: that by latencies from the send where the load generator was late, else the
    same; `per_core` and `per_gib`; `over` (the strongest processes at that N), `ratio` to them with
    `_low`, `_high`, `verdict`, `family` and `why`. Where there is nothing to compare with, `over`
    is empty and the ratio NaN.

    Raises:
        UsageError: no objective, one that cannot be read, or no run of an open loop.
    """
    stated = list(map(parse_objective, results.study.study.get("slo") or ()))
    texts = [slo] if isinstance(slo, str) else slo
    objectives = stated if texts is None else list(map(parse_objective, texts))
    if not objectives:
        raise UsageError(
            f"the study {results.study.name} states no objective; name one, such as slo='p99<20ms'"
        )
    found, compared = results.capacities, results.ratios
    if objectives != stated:  # not named before the study
        found = capacities(results.blocks, objectives)
        texts = [each.text for each in objectives]
        blocks = replace(with_capacities(results.blocks, found), objectives=texts)
        compared = ratios(blocks, questions.capacities(blocks), exploratory=True)
    if not found:
        raise UsageError(
            f"the study {results.study.name} has no valid run at a rate (an open loop) with enough "
            "requests for the percentile"
        )
    return pd.DataFrame([_row(each, over_processes(each, compared)) for each in found])


def over_processes(of: Capacity, among: Ratios) -> Ratio | None:
    """The ratio of a capacity over that of the strongest processes; None where there is none."""
    measure = CAPACITY.format(of.objective.text)
    found = among.where(OVER_PROCESSES, measure, lambda each: each.of == of.cell)
    return next(iter(found), None)


def _row(each: Capacity, ratio: Ratio | None) -> dict[str, object]:
    cell, estimate = each.cell, each.estimate
    over = ratio.over if ratio else None
    nan = float("nan")
    return {
        "workload": cell.workload,
        "parameters": Parameters.of(cell.parameters).text,
        "sizing": cell.sizing,
        "loop": cell.loop,
        "arm": cell.arm,
        "model": cell.model,
        "workers": cell.workers,
        "slo": each.objective.text,
        "capacity_per_s": estimate.point,
        "capacity_per_s_low": estimate.low,
        "capacity_per_s_high": estimate.high,
        "bound": each.bound,
        "most_per_s": each.most.point,
        "n": estimate.n,
        "outside": each.outside,
        "per_core": each.per_core.point,
        "per_gib": each.per_gib.point,
        "over": f"{over.workers} {over.model} on {over.arm}" if over else "",
        "ratio": ratio.point if ratio else nan,
        "ratio_low": ratio.low if ratio else nan,
        "ratio_high": ratio.high if ratio else nan,
        "verdict": ratio.verdict.word if ratio else "",
        "family": ratio.verdict.family if ratio else "",
        "why": ratio.verdict.why if ratio else "",
    }
