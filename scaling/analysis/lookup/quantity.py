"""What can be looked up of a cell: how it is computed from runs, its unit, its name in words.

A quantity is read off a table of blocks × N, the runs of one curve. Most of them are a column of
the frame at one N (`scaling.analysis.table.columns.MEASURES`); a speed-up also needs N = 1, a slope
every N there is.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from scaling.analysis.curves.memory import (
    MIB,
    READINGS,
    memory_kind,
    ns_of_slope,
    readings,
    slopes,
)
from scaling.analysis.table.column import Noise
from scaling.analysis.table.columns import MEASURES
from scaling.analysis.table.own_figures import readable, unit_of
from scaling.base.errors import UsageError
from scaling.base.suggest import nearest

type Runs = pd.DataFrame  # rows of a frame
type Grid = pd.DataFrame  # blocks × N
type ByBlock = pd.Series[float]
type Read = Callable[[Runs], ByBlock]
type Reduce = Callable[[Grid, int | None], ByBlock]

RATE, MEMORY, SLOPE = "throughput_per_s", "memory_mib", "memory_slope_mib"
OVER_ONE = ("speedup", "efficiency")  # over N = 1 of the same curve


@dataclass(frozen=True, slots=True)
class Quantity:
    """Something that can be looked up. `read` has a value for each run, `reduced` for each block.

    `noise` is the measure whose noise floor it has (`scaling.analysis.statistics.noise`).
    """

    words: str
    unit: str
    read: Read
    reduced: Reduce
    noise: Noise = "throughput"

    def values(self, runs: Runs, workers: int | None) -> ByBlock:
        """One value for each block that has a valid run of the curve, by block; NaN for none.

        A run that was made again counts in the place of the first attempt.
        """
        used = runs[runs["valid"]].drop_duplicates(["workers", "block"], keep="last")
        table = used.assign(value=self.read(used))
        grid = table.pivot(index="block", columns="workers", values="value")
        found = self.reduced(grid, workers)
        return found.where(np.isfinite(found))


def is_of_a_curve(measure: str) -> bool:
    """Whether it is a figure of all Ns of a curve, and not of one."""
    return measure == SLOPE


def quantity(measure: str, curves: Sequence[Runs], operation: str) -> Quantity:
    """The quantity of that name, for the runs of one curve, or of two that are to be compared.

    `operation` is the plural noun of what the workload counts. Of memory it is PSS, or RSS where
    one of the curves has no PSS.

    Raises:
        UsageError: none of that name is known, and none of the runs has it as its own.
    """
    if measure in (MEMORY, SLOPE):
        return _memory(measure, curves)
    if measure in WORKED_OUT:
        return WORKED_OUT[measure]
    if column := MEASURES.get(measure):
        unit = f"{operation}/s" if measure == RATE else column.unit
        words = column.words or readable(measure)
        return Quantity(words, unit, _column(measure), _at, column.noise)
    own = dict.fromkeys(name for runs in curves for each in runs["figures"] for name in each)
    if measure in own:
        return Quantity(readable(measure), unit_of(measure), _own(measure), _at)
    others = [*own, *WORKED_OUT, MEMORY, SLOPE]
    meant = nearest(measure, [*others, *MEASURES])
    hint = f" Did you mean {meant!r}?" if meant else ""
    raise UsageError(
        f"unknown measure {measure!r}.{hint} There are the numbers of a frame, and "
        f"{', '.join(others)}."
    )


def _column(name: str, factor: float = 1.0) -> Read:
    return lambda runs: runs[name].astype(np.float64) * factor


def _own(name: str) -> Read:
    def read(runs: Runs) -> ByBlock:
        values = [each.get(name, np.nan) for each in runs["figures"]]
        return pd.Series(values, index=runs.index, dtype=np.float64)

    return read


def _at(grid: Grid, workers: int | None) -> ByBlock:
    """The values at N; none where no run of it is valid."""
    if workers is None or workers not in grid.columns:
        return pd.Series(np.nan, index=grid.index)
    return grid[workers]


def _speedup(grid: Grid, workers: int | None) -> ByBlock:
    return _at(grid, workers) / _at(grid, 1)


def _efficiency(grid: Grid, workers: int | None) -> ByBlock:
    return _speedup(grid, workers) / (workers or 1)


def _of_slope(runs: Runs) -> Runs:
    """The runs of a curve at the Ns that a slope is over."""
    regions = runs.drop_duplicates("workers").set_index("workers")["region"]
    return runs[runs["workers"].isin(regions.index[ns_of_slope(regions.to_list())])]


def _slope(grid: Grid, workers: int | None) -> ByBlock:
    del workers
    return pd.Series(slopes(grid.to_numpy(), grid.columns.to_numpy()), index=grid.index)


def _memory(measure: str, curves: Sequence[Runs]) -> Quantity:
    kind = memory_kind(readings(runs[runs["valid"]]) for runs in curves)
    read = _column(READINGS[kind], 1 / MIB)
    if measure == SLOPE:
        words, unit = f"{kind} per extra worker", "MiB per extra worker"
        return Quantity(words, unit, lambda runs: read(_of_slope(runs)), _slope, kind)
    return Quantity(kind, "MiB", read, _at, kind)


WORKED_OUT = {
    "s_per_op": Quantity("time per operation", "s", lambda runs: 1 / runs[RATE], _at),
    "speedup": Quantity("speed-up", "×", _column(RATE), _speedup),
    "efficiency": Quantity("efficiency", "", _column(RATE), _efficiency),
}
