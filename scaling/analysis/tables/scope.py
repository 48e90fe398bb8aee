"""The cells of a study that was measured, as questions are asked of them."""

from collections.abc import Iterable, Sequence

import numpy as np

from scaling.analysis.arrays import Flags
from scaling.analysis.tables.cells import places_of
from scaling.analysis.tables.values import Values
from scaling.journal.record import Cell, Region
from scaling.study.questions import THROUGHPUT

# A rung of the ladder must be valid in this share of the blocks in which its ends are. With fewer
# it would take the blocks away from the steps beside it.
ENOUGH_BLOCKS = 0.5


class MeasuredScope:
    """The cells that questions are asked of (`scaling.study.questions.Scope`).

    `place` has the column of every cell, of rated cells, too.
    """

    def __init__(self, values: Values, objectives: Sequence[str] = ()) -> None:
        table = values.table
        self.objectives = objectives
        self.place = places_of(table)
        self.cells: Sequence[Cell] = table.loc[~table["twin"] & ~table["rated"], "cell"].tolist()
        self._values = values
        self._regions: list[Region | None] = table["region"].tolist()
        self._has_value: dict[str, Flags] = {}

    def region(self, cell: Cell) -> Region | None:
        """The region of the machine that a cell needs."""
        return self._regions[self.place[cell]]

    def measured(self, cells: Iterable[Cell], measure: str = THROUGHPUT) -> list[Cell]:
        """Those of some cells that have a value of the measure in any block."""
        if measure not in self._has_value:
            self._has_value[measure] = np.isfinite(self._values[measure].value).any(axis=0)
        has_value = self._has_value[measure]
        return [cell for cell in cells if cell in self.place and has_value[self.place[cell]]]

    def enough(self, cell: Cell, ends: tuple[Cell, Cell]) -> bool:
        """Whether a cell is valid in at least half of the blocks in which two others are."""
        places = [self.place[each] for each in (*ends, cell)]
        first, last, between = np.isfinite(self._values[THROUGHPUT].value[:, places]).T
        both = first & last
        return bool((both & between).sum() >= ENOUGH_BLOCKS * both.sum())
