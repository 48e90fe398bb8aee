"""Every measure of every cell in every block, as arrays.

A measure is an array of shape (blocks, cells), so two cells are compared by two columns of it. It
is a column of the runs, a figure of the workload's own, or derived from other measures
(`scaling.analysis.tables.derived`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from scaling.analysis.arrays import Flags, Floats, Integers
from scaling.analysis.column import Shown
from scaling.analysis.table.columns import COLUMNS, SHOWN
from scaling.analysis.table.latency import has_no_most, may_be_one, shortest_s
from scaling.analysis.table.run_fields import readable, unit_of
from scaling.analysis.tables.cells import NONE, Cells, places_of
from scaling.journal.record import Cell, Region
from scaling.study.questions import THROUGHPUT

# A rung of the ladder must be valid in this share of the blocks in which its ends are. With fewer
# it would take the blocks away from the steps beside it.
ENOUGH_BLOCKS = 0.5

MIB = 1024.0 * 1024.0
# Units that figures come in, and those in which people read them.
READ_IN = {"s": ("ms", 1e3), "B": ("MiB", 1 / MIB)}
OWN_PLACE = 80  # of a workload's own figure among the places of `Shown`

type Estimator = Literal["median", "mean", "geometric mean"]


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure of all cells: arrays of shape (blocks, cells), NaN for no value.

    `bound` is 1 where a value is a lower bound, -1 where an upper one, else 0. The true value lies
    between `least` and `most`, which differ where a load generator was late, too.
    """

    value: Floats
    bound: Integers
    least: Floats
    most: Floats

    @classmethod
    def exact(cls, value: Floats) -> "Measure":
        """Values that are known exactly."""
        return cls(value, np.zeros(value.shape, np.int64), value, value)

    @property
    def side(self) -> Integers:
        """The bound of each column's median: that of half of its values, shape (cells,)."""
        known = np.isfinite(self.value)
        half = np.maximum(known.sum(axis=0), 1) / 2
        counts = [((self.bound == side) & known).sum(axis=0) for side in (1, -1)]
        return np.select([count >= half for count in counts], [1, -1], 0)

    def over(self, of: Integers, over: Integers) -> "Measure":
        """The ratios of some columns over others, shape (blocks, pairs).

        They are NaN where two bounds say nothing of the ratio: those to the same side, or at one
        value.
        """
        bound, other = self.bound[:, of], self.bound[:, over]
        alike = (bound == other) | (self.value[:, of] == self.value[:, over])
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self.value[:, of] / self.value[:, over]
            least = self.least[:, of] / self.most[:, over]
            most = self.most[:, of] / self.least[:, over]
        unknown = ((bound != 0) & (other != 0) & alike) | ~np.isfinite(ratio)
        return Measure(np.where(unknown, np.nan, ratio), np.sign(bound - other), least, most)


type Derive = Callable[["Values"], Measure]


class Derived(NamedTuple):
    """A measure that is worked out from others: how it is shown, and estimated over blocks."""

    derive: Derive
    shown: Shown
    estimator: Estimator = "median"


class Values:
    """The measures of a study by name; each is made when it is first asked for.

    `table` is that of its cells, `places` the row of each run that counts, shape (blocks, cells).
    `derived` is what is worked out. A cell is averaged with the twin that was measured in turn with
    it. `place` has the column of every cell, of rated cells, too. Implements
    `scaling.study.sections.Scope`.
    """

    def __init__(
        self,
        runs: pd.DataFrame,
        cells: Cells,
        derived: Mapping[str, Derived],
        objectives: Sequence[str] = (),
    ) -> None:
        self.runs, self.table, self.places = runs, cells.table, cells.runs
        self.blocks, self.derived, self.objectives = cells.blocks, derived, objectives
        self._of_cells = cells
        self.place = places_of(self.table)
        asked = self.table[~self.table["twin"] & ~self.table["rated"]]
        self.cells: Sequence[Cell] = asked["cell"].tolist()
        self._regions: list[Region | None] = self.table["region"].tolist()
        self._known: dict[str, Measure] = {}
        self._has_value: dict[str, Flags] = {}

    @cached_property
    def own(self) -> pd.DataFrame:
        """The figures of the workloads' own, a row for each run."""
        return pd.DataFrame(self.runs["figures"].tolist(), index=self.runs.index)

    @cached_property
    def of_single_runs(self) -> "Values":
        """The same where no cell is averaged with its twin."""
        cells = replace(self._of_cells, twins=np.full_like(self.places, NONE))
        return Values(self.runs, cells, self.derived, self.objectives)

    @property
    def names(self) -> list[str]:
        """The measures that tables may show and that any cell may have."""
        columns = [name for name in SHOWN if self.runs[name].notna().any()]
        return list(dict.fromkeys([*columns, *self.own, *self.derived]))

    def __getitem__(self, name: str) -> Measure:
        if name not in self._known:
            self._known[name] = self._made(name)
        return self._known[name]

    def _made(self, name: str) -> Measure:
        if name in self.derived:
            return self.derived[name].derive(self)
        value = self.column(name)
        if not may_be_one(name):
            return Measure.exact(value)
        bound = (self._of_cells.averaged(has_no_most(self.runs)) > 0).astype(np.int64)
        least = self._of_cells.averaged(shortest_s(self.runs, name))
        return Measure(value, bound, least, np.where(bound, np.inf, value))

    def shown(self, name: str) -> Shown:
        """The heading of a measure, its name in CSV files, and its unit.

        A workload's own figure is called `own_settle_max_ms`, so that it takes no other's place.
        """
        if name in self.derived:
            return self.derived[name].shown
        column = COLUMNS.get(name)
        if column is not None and column.shown:
            return column.shown
        own_unit = unit_of(name)
        unit, factor = READ_IN.get(own_unit, (own_unit, 1.0))
        heading = f"{readable(name)} {unit}".replace(" /", "/").strip()
        own = name if factor == 1 else f"{name.rpartition('_')[0]}_{unit.lower()}"
        return Shown(heading, f"own_{own.strip('_')}", OWN_PLACE, factor)

    def column(self, name: str) -> Floats:
        """A column of the runs, or a figure of the workload's own, as blocks × cells."""
        source = self.runs if name in self.runs else self.own
        if name in source:
            return self._of_cells.averaged(source[name])
        return np.full(self.places.shape, np.nan)

    def placed(self, of_runs: "pd.Series[float] | Floats") -> Floats:
        """A value for each run as blocks × cells, those of twins apart."""
        return self._of_cells.placed(of_runs)

    def at_one(self, measure: Floats) -> Floats:
        """The same measure of the cell with one worker on the same curve."""
        one = self.table["one"].to_numpy()
        return np.where(one == NONE, np.nan, measure[:, one])

    def region(self, cell: Cell) -> Region | None:
        """The region of the machine that a cell needs."""
        return self._regions[self.place[cell]]

    def measured(self, cells: Iterable[Cell], measure: str = THROUGHPUT) -> list[Cell]:
        """Those of some cells that have a value of the measure in any block."""
        if measure not in self._has_value:
            self._has_value[measure] = np.isfinite(self[measure].value).any(axis=0)
        has_value = self._has_value[measure]
        return [cell for cell in cells if cell in self.place and has_value[self.place[cell]]]

    def enough(self, cell: Cell, ends: tuple[Cell, Cell]) -> bool:
        """Return whether a cell is valid in at least half of the blocks in which two others are."""
        places = [self.place[each] for each in (*ends, cell)]
        first, last, between = np.isfinite(self[THROUGHPUT].value[:, places]).T
        both = first & last
        return bool((both & between).sum() >= ENOUGH_BLOCKS * both.sum())

    def long(self, names: Sequence[str] = ()) -> pd.DataFrame:
        """The same as a table: a row per cell, block and measure that has a value.

        Columns: `measure`, `cell` (its place), `block` (its number), `value`, `bound`, `least`,
        `most`.
        """
        parts = []
        for name in names or self.names:
            measure = self[name]
            block, cell = np.nonzero(np.isfinite(measure.value))
            figures = {
                each: getattr(measure, each)[block, cell]
                for each in ("value", "bound", "least", "most")
            }
            where = {"measure": name, "cell": cell, "block": self.blocks[block]}
            parts.append(pd.DataFrame(where | figures))
        return pd.concat(parts, ignore_index=True)
