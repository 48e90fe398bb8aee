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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from scaling.analysis.arrays import Flags, Floats
from scaling.analysis.blocks import Blocks, FromFrame, Series, server_behind, side_of_median
from scaling.analysis.curves import MIB
from scaling.analysis.ratios import Ratio, Ratios
from scaling.analysis.statistics.estimate import Estimate, median
from scaling.analysis.table.latency import shortest_s
from scaling.base.formats import number
from scaling.journal.record import Cell, Region
from scaling.study.kinds import Objective
from scaling.study.load import RATE, is_open_loop
from scaling.study.questions import CAPACITY, OVER_PROCESSES, without_rate

# ----------------------------------------------------------------------------------------- crossing
# Where latency crosses an objective over the rates of one block.
#
# Latency rises with the rate, but single runs scatter, so a monotone fit comes first: isotonic
# regression (the pool-adjacent-violators algorithm) of the logarithm of the percentile over the
# rates. Between the last rate whose fit is within the objective and the first whose is not, the
# logarithm of the rate is interpolated. The highest rate of a single run that passed would
# favour lucky runs.


def crossing(
    rates_per_s: Floats, latencies_s: Floats, sound: Flags, limit_s: float
) -> tuple[float, int]:
    """The rate up to which the objective holds: latency within `limit_s`, and every run `sound`.

    Beside it stands 0 for a rate inside the grid; else the rate is the grid's end, a bound: with 1
    where the objective holds at every rate, so that capacity is at least the highest, with -1 where
    it holds at none, so that capacity is less than the lowest.

    Arrays are of shape (rates,), the rates ascending and at least one; a run is sound without
    errors and backlog. Where an unsound run comes before the crossing, the rate before that run is
    the capacity.
    """
    from scipy.optimize import isotonic_regression  # takes longer to import than a plan to make

    fit, limit = isotonic_regression(np.log(latencies_s)).x, np.log(limit_s)
    count = len(rates_per_s)
    slow = int(np.searchsorted(fit, limit, side="right"))  # the first rate beyond the objective
    unsound = count if sound.all() else int(np.argmin(sound))
    if min(slow, unsound) == 0:
        return float(rates_per_s[0]), -1
    if min(slow, unsound) == count:
        return float(rates_per_s[-1]), 1
    if unsound < slow:
        return float(rates_per_s[unsound - 1]), 0
    part = (limit - fit[slow - 1]) / (fit[slow] - fit[slow - 1])
    low, high = np.log(rates_per_s[slow - 1 : slow + 1])
    return float(np.exp(low + part * (high - low))), 0


# ----------------------------------------------------------------------------------------- capacity

GIB_IN_MIB = 1024.0
UNIT = "requests/s"


@dataclass(frozen=True, slots=True)
class Capacity:
    """The capacity of a cell without its rate at an objective, in requests/s of all its workers.

    `series` has its values block by block, with what is known of the true ones, and `estimate` is
    their median; `most` is that by latencies from the send, which differ where the load generator
    was late, and `up_to` says so: `2,050/s`, `2,330/s or more`. `per_gib` is per GiB of memory at
    the last rate that kept the objective (PSS; RSS where one of the configurations that it is
    compared with has no PSS).
    """

    cell: Cell
    objective: Objective
    region: Region | None
    series: Series
    estimate: Estimate
    most: Estimate
    up_to: str
    per_gib: Estimate

    @property
    def bound(self) -> str:
        """`≥` or `<` where the estimate is a bound, because it lies outside the rates."""
        return self.series.mark

    @property
    def per_core(self) -> Estimate:
        """Per worker, each of which can have a core."""
        return self.estimate.scaled(1 / self.cell.workers, f"{UNIT} per core")

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
    def outside(self) -> int:
        """In how many blocks it lay outside the rates."""
        return int((self.series.side != 0).sum())


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
        derived.setdefault(measure, {})[each.cell] = each.series
        regions[each.cell] = each.region
    return replace(blocks, derived=derived, regions=regions)


def _capacity(
    blocks: Blocks, cell: Cell, rated: Sequence[Cell], objective: Objective
) -> Capacity | None:
    """Of one cell at the `rated` ones; None where no run has the percentile."""
    column = f"latency_{objective.percentile}_s"
    rated = sorted(rated, key=_rate)
    rates = np.array([_rate(each) for each in rated])

    def table(name: str, read: FromFrame | None = None) -> Floats:
        """A column, or what is made of it, as blocks × rates."""
        return np.column_stack([blocks.of(each, name, read) for each in rated])

    latency_s, least_s = table(column), table(column, shortest_s)
    faults = (table("load_errors"), table("load_declined"), table("reasons", server_behind))
    is_sound = ~(np.array(faults) > 0).any(axis=0)
    memory_mib = table(blocks.memory_column(rated[0])) / MIB
    rows = np.flatnonzero((latency_s > 0).any(axis=1))
    if not len(rows):
        return None
    crossings, at_most, memory = [], [], []
    for row in rows:
        known = latency_s[row] > 0
        at = rates[known]
        sound, latencies = is_sound[row, known], latency_s[row, known]
        found = crossing(at, latencies, sound, objective.limit_s)
        earliest = np.minimum(latencies, least_s[row, known])
        crossings.append(found)
        at_most.append(crossing(at, earliest, sound, objective.limit_s))
        kept = max(0, int((at <= found[0]).sum()) - 1)  # the last rate up to it
        memory.append(memory_mib[row, known][kept])

    def placed(values: Floats) -> Floats:
        """A value for each of these rows as one for each block."""
        every = np.full(len(latency_s), np.nan)
        every[rows] = values
        return every

    (values, side), (late, late_side) = (np.array(each).T for each in (crossings, at_most))
    series = Series(
        placed(values),
        np.nan_to_num(placed(side)).astype(np.int64),
        placed(np.where(side < 0, 0.0, values)),
        placed(np.where(late_side > 0, np.inf, late)),
    )
    most, up_to = median(late, UNIT), ""
    if series.bound <= 0 and at_most != crossings:
        more = " or more" if side_of_median(late_side) > 0 else ""
        up_to = f"{number(most.point)}/s{more}"
    per_gib = median(values / (np.array(memory) / GIB_IN_MIB), f"{UNIT} per GiB")
    estimate, region = median(values, UNIT), blocks.region(rated[0])
    return Capacity(cell, objective, region, series, estimate, most, up_to, per_gib)


def _rate(cell: Cell) -> float:
    return float(cell.parameters[RATE] or 0.0)


def over_processes(of: Capacity, among: Ratios) -> Ratio | None:
    """The ratio of a capacity over that of the strongest processes; None where there is none."""
    measure = CAPACITY.format(of.objective.text)
    found = among.where(OVER_PROCESSES, measure, lambda each: each.of == of.cell)
    return next(iter(found), None)
