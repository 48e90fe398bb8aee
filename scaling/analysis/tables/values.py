"""Every measure of every cell in every block, as arrays.

A measure is an array of shape (blocks, cells), so two cells are compared by two columns of it. It
is a column of the runs, a figure of the workload's own, or derived from other measures
(`scaling.analysis.tables.derived`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from scaling.analysis.arrays import Floats, Integers
from scaling.analysis.table.column import Shown
from scaling.analysis.table.columns import SHOWN
from scaling.analysis.table.latency import has_no_most, may_be_one, shortest_s
from scaling.analysis.tables.cells import NONE, Cells

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
    `own` are the figures of the workloads' own, by run; `derived` is what is worked out.
    """

    def __init__(self, runs: pd.DataFrame, cells: Cells, derived: Mapping[str, Derived]) -> None:
        self.runs, self.table, self.places = runs, cells.table, cells.runs
        self.blocks, self.derived = cells.blocks, derived
        self.own = pd.DataFrame(runs["figures"].tolist(), index=runs.index)
        self._known: dict[str, Measure] = {}

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
        bound = (self.placed(has_no_most(self.runs)) == 1).astype(np.int64)
        least = self.placed(shortest_s(self.runs, name))
        return Measure(value, bound, least, np.where(bound, np.inf, value))

    def column(self, name: str) -> Floats:
        """A column of the runs, or a figure of the workload's own, as blocks × cells."""
        for source in (self.runs, self.own):
            if name in source:
                return self.placed(source[name])
        return np.full(self.places.shape, np.nan)

    def placed(self, of_runs: "pd.Series[float] | Floats") -> Floats:
        """A value for each run as blocks × cells."""
        values = np.asarray(of_runs, np.float64)
        return np.where(self.places == NONE, np.nan, values[self.places])

    def at_one(self, measure: Floats) -> Floats:
        """The same measure of the cell with one worker on the same curve."""
        one = self.table["one"].to_numpy()
        return np.where(one == NONE, np.nan, measure[:, one])

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
