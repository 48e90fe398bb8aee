"""The runs of one study as blocks × cells: the basis of every ratio.

Two cells are compared inside a block, between runs made close together; the median is taken of
those ratios, never a ratio of medians. Invalid runs have no value.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from scaling.analysis.arrays import Floats, Integers
from scaling.analysis.curves import MIB, READINGS, memory_kind
from scaling.analysis.statistics.noise import NoiseFloor, noise_floor
from scaling.analysis.statistics.verdict import Margin
from scaling.analysis.table.columns import MEASURES
from scaling.analysis.table.groups import (
    CELL,
    curve_cell,
    fell_behind,
    in_order,
    require_one_study,
    which_count,
)
from scaling.analysis.table.latency import LATENCY_PREFIX, has_no_most, may_be_one, shortest_s
from scaling.base.vocabulary import PRIMARY_QUESTIONS
from scaling.journal.record import Cell, Region, StudyLine
from scaling.study.kinds import parse_objective
from scaling.study.questions import CPU, MEMORY, THROUGHPUT, section_of

PSS, RSS = READINGS["PSS"], READINGS["RSS"]
# A rung of the ladder must be valid in this share of the blocks in which its ends are. With fewer
# it would take the blocks away from the steps beside it.
ENOUGH_BLOCKS = 0.5
MEMORY_KINDS = {column: kind for kind, column in READINGS.items()}
# Why two cells were not measured in turn.
OTHER_N = "they have another number of workers"
OTHER_GROUP = "one group had no room for both"
OTHER_STUDY = "they are of two studies"
NO_TURNS = "each was measured after the other"

type FromFrame = Callable[[pd.DataFrame, str], "pd.Series[float] | Floats"]  # a value for each run


def side_of_median(sides: Integers) -> int:
    """On which side of its median the true one is: that of half of the values, 0 for none."""
    return next((s for s in (1, -1) if sides.any() and 2 * (sides == s).sum() >= len(sides)), 0)


@dataclass(frozen=True, slots=True)
class Series:
    """One measure of a cell, block by block: arrays of shape (blocks,), NaN for no value.

    Where `side` is 1 a value is a lower bound (the true one may be higher by any amount), where it
    is -1 an upper bound. The true value lies between `least` and `most`, which is infinite for a
    lower bound; the two differ where a load generator was late, too.
    """

    values: Floats
    side: Integers
    least: Floats
    most: Floats

    @classmethod
    def exact(cls, values: Floats) -> "Series":
        """Values that are no bounds."""
        return cls(values, np.zeros(len(values), np.int64), values, values)

    @property
    def is_exact(self) -> bool:
        """Whether no value was ever a bound."""
        return self.values is self.least is self.most

    @property
    def known(self) -> "Series":
        """Those of blocks that have a value."""
        known = np.isfinite(self.values)
        return Series(self.values[known], self.side[known], self.least[known], self.most[known])

    @property
    def bound(self) -> int:
        """The side of the median."""
        return side_of_median(self.side[np.isfinite(self.values)])

    def over(self, other: "Series") -> "Series":
        """The ratios block by block; NaN where they are not known: of two bounds to the same side
        or at one value.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self.values / other.values
            if self.is_exact and other.is_exact:
                return Series.exact(np.where(np.isfinite(ratio), ratio, np.nan))
            least, most = self.least / other.most, self.most / other.least
        both = (self.side != 0) & (other.side != 0)
        unknown = both & ((self.side == other.side) | (self.values == other.values))
        values = np.where(np.isfinite(ratio) & ~unknown, ratio, np.nan)
        return Series(values, np.sign(self.side - other.side), least, most)

    @property
    def mark(self) -> str:
        """`≥` or `<` before a median that is a bound."""
        return {1: "≥", -1: "<"}.get(self.bound, "")


@dataclass(frozen=True, eq=False)
class Blocks:
    """A study's valid runs. `rows` has the place in the `frame` of each run, shape (blocks, cells),
    -1 where there is none; `blocks` the number of each block, ascending.

    `cells` are all cells of the study, measured or not, in the order in which it is shown, with the
    place of each; none has a region, CPUs or is a twin. The noise `floor` is that of the A/A pairs.
    `objectives` are those that the study states. `derived` are measures that are worked out from
    several runs of a block, such as capacities, by measure and cell. In `wrong_models` the check of
    an application found wrong answers.
    """

    study: StudyLine
    frame: pd.DataFrame
    cells: Sequence[Cell]
    blocks: Integers
    rows: Integers
    regions: Mapping[Cell, Region | None]
    floor: NoiseFloor
    objectives: Sequence[str] = ()
    derived: dict[str, dict[Cell, Series]] = field(default_factory=dict)
    wrong_models: Collection[str] = ()
    _columns: dict[tuple[str, FromFrame | None], Floats] = field(default_factory=dict)
    _memory_columns: dict[Cell, str] = field(default_factory=dict)

    @cached_property
    def place(self) -> dict[Cell, int]:
        """The column of each cell."""
        return {cell: at for at, cell in enumerate(self.cells)}

    @cached_property
    def _none(self) -> Floats:
        return np.full(len(self.blocks), np.nan)

    @property
    def primary(self) -> Sequence[str]:
        """The questions that the study names as its primary ones."""
        return tuple(self.study.study.get("primary") or PRIMARY_QUESTIONS)

    def region(self, cell: Cell) -> Region | None:
        """Where the workers of a cell fit on the machine."""
        return self.regions.get(cell)

    def of(self, cell: Cell, column: str, read: FromFrame | None = None) -> Floats:
        """The values of a column of the frame in the runs of a cell, shape (blocks,), or what
        `read` makes of it.
        """
        if (column, read) not in self._columns:  # for all cells at once
            every = self._read(column) if read is None else np.asarray(read(self.frame, column))
            values = np.where(self.rows.T < 0, np.nan, every[self.rows.T])
            self._columns[column, read] = values
        place = self.place.get(cell)
        return self._none if place is None else self._columns[column, read][place]

    def _read(self, column: str) -> Floats:
        """A column of the frame, or the runs' figures of that name; NaN for none."""
        if column in self.frame:
            return np.asarray(self.frame[column], np.float64)
        return np.array([each.get(column, np.nan) for each in self.frame["figures"]], np.float64)

    def own_figures(self, cell: Cell) -> list[str]:
        """The names of the figures that the runs of a cell have of their workload's own."""
        rows = self.rows[:, self.place[cell]]
        figures = self.frame["figures"].to_numpy()
        return list(dict.fromkeys(name for row in rows if row >= 0 for name in figures[row]))

    def why_apart(self, of: Cell, over: Cell) -> str:
        """Why two cells were not measured in turn with each other; empty where they were.

        They were where it is so in every block in which both are valid.
        """
        if of.workers != over.workers:
            return OTHER_N
        ours, theirs = self.of(of, "group"), self.of(over, "group")
        both = np.isfinite(self.of(of, THROUGHPUT)) & np.isfinite(self.of(over, THROUGHPUT))
        if both.any() and (ours[both] == theirs[both]).all():
            return ""
        known: set[str] = {*self._why_alone.get(of, ()), *self._why_alone.get(over, ())}
        if known:
            return min(known)
        return OTHER_GROUP if np.isfinite(ours[both] + theirs[both]).any() else NO_TURNS

    @cached_property
    def _why_alone(self) -> dict[Cell, set[str]]:
        """Why valid runs of cells took turns with no other, where that is known."""
        told = np.flatnonzero(self.frame["alone"].notna().to_numpy())
        reasons = dict(zip(told.tolist(), self.frame["alone"].iloc[told].tolist(), strict=True))
        found: dict[Cell, set[str]] = {}
        for cell, rows in zip(self.cells, self.rows.T, strict=True):
            if known := {reasons[row] for row in rows[np.isin(rows, told)].tolist()}:
                found[cell] = known
        return found

    def waits(self, cell: Cell) -> list[Mapping[str, float]]:
        """In each block the share of the samples of a cell's run by the call of each wait."""
        place = self.place[cell]
        column = self.frame["waits"].to_numpy()
        return [column[row] if row >= 0 else {} for row in self.rows[:, place]]

    def series(self, cell: Cell, measure: str) -> Series:
        """A measure of a cell; memory in MiB is of one kind in each section."""
        if measure in self.derived:
            return self.derived[measure].get(cell, Series.exact(self._none))
        if measure == MEMORY:
            measure = self.memory_column(cell)
        if measure in (PSS, RSS):
            return Series.exact(self.of(cell, measure) / MIB)
        values = self.of(cell, measure)
        if not may_be_one(measure):
            return Series.exact(values)
        side = self.of(cell, measure, lambda runs, _: has_no_most(runs)) == 1
        least = self.of(cell, measure, shortest_s)
        return Series(values, side.astype(np.int64), least, np.where(side, np.inf, values))

    def ratio(self, of: Cell, over: Cell, measure: str) -> Series:
        """A measure of a cell over that of another."""
        return self.series(of, measure).over(self.series(over, measure))

    def memory_column(self, cell: Cell) -> str:
        """The column of the kind of memory that is compared in the section of a cell."""
        section = section_of(cell)
        if section not in self._memory_columns:
            own = [each for each in self.cells if section_of(each) == section]
            sides = (np.array([self.of(c, name) for name in READINGS.values()]) for c in own)
            self._memory_columns[section] = READINGS[memory_kind(sides)]
        return self._memory_columns[section]

    def margin(self, measure: str) -> Margin:
        """The smallest difference of a measure that counts; with the doubt that A/A pairs raise.

        Capacity is nearly in inverse proportion to the CPU time of a request, so its verdicts are
        withheld where A/A pairs differ in that.
        """
        column = MEASURES.get(CPU if measure in self.derived else measure)
        return self.floor.margin(column.noise if column else "throughput")

    def measured(self, cells: Iterable[Cell], measure: str = THROUGHPUT) -> list[Cell]:
        """Those of some cells that have a value of the measure in any block."""
        return [each for each in cells if np.isfinite(self.series(each, measure).values).any()]

    def enough(self, cell: Cell, ends: tuple[Cell, Cell]) -> bool:
        """Whether a cell is valid in at least half of the blocks in which two others are."""
        known = [np.isfinite(self.of(each, THROUGHPUT)) for each in (*ends, cell)]
        both = known[0] & known[1]
        return bool((both & known[2]).sum() >= ENOUGH_BLOCKS * both.sum())

    def strongest(self, cells: Iterable[Cell], measure: str) -> Cell | None:
        """The cell whose median is best, None where none has a value. One that answers wrongly is
        chosen only among such.

        Of latencies it is the one that is least often a lower bound, then the lowest; where none is
        known the one that takes the least CPU time. Of capacities one beyond the rates is better
        than one at the last of them.
        """
        known = self.measured(cells, measure)
        known = [each for each in known if each.model not in self.wrong_models] or known
        if not known and measure.startswith(LATENCY_PREFIX):
            return self.strongest(cells, CPU)

        def goodness(cell: Cell) -> tuple[float, float]:
            found = self.series(cell, measure)
            median = float(np.nanmedian(found.values))
            if measure.startswith(LATENCY_PREFIX):
                return -float(found.side.mean()), -median
            if measure == MEMORY or (measure in MEASURES and MEASURES[measure].better == "less"):
                return -median, 0.0
            return median, found.bound

        return max(known, key=goodness, default=None)


def server_behind(frame: pd.DataFrame, _: str) -> Floats:
    """1 for each run whose server fell behind by its `reasons`, else 0: for `Blocks.of`."""
    return fell_behind(frame).astype(np.float64)


def cells_of(frame: pd.DataFrame) -> tuple[list[Cell], Integers]:
    """The cells of a frame without region, CPUs and twin, and the place of the cell of each run."""
    keys = frame[list(CELL[1:])]
    by = keys.groupby(list(CELL[1:]), observed=True, sort=False, dropna=False)
    number: Integers = np.asarray(by.ngroup(), np.int64)
    cells = [
        curve_cell(*curve).but(workers=int(workers))
        for *curve, workers in keys[~pd.Series(number).duplicated().to_numpy()].itertuples(
            index=False, name=None
        )
    ]
    return cells, number


def blocks_of(frame: pd.DataFrame, study: StudyLine) -> Blocks:
    """The runs of one study by block and cell.

    Raises:
        UsageError: the frame holds several studies.
    """
    require_one_study(frame)
    found, number = cells_of(frame)
    original = ~frame["twin"].to_numpy(np.bool_)
    firsts = np.flatnonzero(original & ~pd.Series(number).where(original).duplicated().to_numpy())
    named = frame["region"].astype(object).to_numpy()
    regions: dict[Cell, Region | None] = {
        found[number[run]]: named[run] if isinstance(named[run], str) else None for run in firsts
    }
    cells = sorted(regions, key=in_order(study))
    place = {cell: at for at, cell in enumerate(cells)}
    column = np.array([place.get(cell, -1) for cell in found], np.int64)[number]
    block = frame["block"].to_numpy()
    used = np.flatnonzero(which_count(frame))
    blocks = np.unique(block[used])
    rows = np.full((len(blocks), len(cells)), -1, np.int64)
    rows[np.searchsorted(blocks, block[used]), column[used]] = used
    stated = [parse_objective(text).text for text in study.study.get("slo") or ()]
    floor = noise_floor(frame, study)
    return Blocks(study, frame, cells, blocks, rows, regions, floor, stated)
