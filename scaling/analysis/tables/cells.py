"""The table of cells: a row for everything that has figures, and where its runs are.

A row is a cell of the plan, the second run of an A/A pair (`twin`), or the cell of all rates of an
open loop together (`rated`), whose one measure is capacity. The index is the cell's column in the
arrays of `scaling.analysis.tables.values`.
"""

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from scaling.analysis.arrays import Flags, Floats, Integers
from scaling.analysis.table.groups import CELL, in_order, short_labels
from scaling.base.models import parts_of
from scaling.journal.record import Cell, Parameters, StudyLine
from scaling.study.controls import CONTROLS
from scaling.study.load import deciding, is_open_loop, open_loop_rate
from scaling.study.questions import THROUGHPUT
from scaling.study.sections import ones_of, without_rate

NONE = -1  # the place of a run or cell that does not exist


@dataclass(frozen=True)
class Cells:
    """`table` has a row per cell; `runs` the row of each run that counts, shape (blocks, cells),
    `NONE` where there is none; `twins`, alike, the run of the cell's A/A pair that is averaged with
    it (`_averaged`); `blocks` the number of each block, ascending.

    Columns of the table: those of `CELL`; `twin`, `rated`, `control`, `wrong` (flags); `region`;
    `runs`, of these `suspect` and `again` (second attempts); `left_out` (invalid runs);
    `allocator_state`; `operation`, the noun of what is counted; `rate` of an open loop, 0 for none,
    and `of_peak`, its share of the peak (`_shares_of_peak`); `one`, the place of the
    cell with one worker on the same curve (`ones_of`); `name` (`names`), and `subject`, the same
    without a rate; `cell` itself.
    """

    table: pd.DataFrame
    runs: Integers
    twins: Integers
    blocks: Integers

    def placed(self, of_runs: "pd.Series[float] | Floats") -> Floats:
        """A value for each run as blocks × cells."""
        return _placed(of_runs, self.runs)

    def averaged(self, of_runs: "pd.Series[float] | Floats") -> Floats:
        """The same, the mean of both runs where a cell is averaged with its twin."""
        own, twin = self.placed(of_runs), _placed(of_runs, self.twins)
        return np.where(np.isnan(twin), own, (own + twin) / 2)


def _placed(of_runs: "pd.Series[float] | Floats", places: Integers) -> Floats:
    values = np.asarray(of_runs, np.float64)
    return np.where(places == NONE, np.nan, values[places])


def cells_of(runs: pd.DataFrame, study: StudyLine, wrong_models: Collection[str] = ()) -> Cells:
    """The cells of a study in the order in which they are shown, twins and rated cells last.

    In `wrong_models` the check of an application found wrong answers.
    """
    table, place = _of_runs(runs, study)
    counts = _which_count(runs, place)
    blocks, row = np.unique(runs["block"].to_numpy()[counts], return_inverse=True)
    found = np.full((len(blocks), len(table)), NONE)
    found[row, place[counts]] = np.flatnonzero(counts)
    table = _with_counts(table, runs, place, counts)
    rated = _rated(table) if study.study.get("slo") else table.iloc[:0].assign(rated=True)
    every = pd.concat([table.assign(rated=False), rated], ignore_index=True)
    every["one"] = _place_of_one(every)
    every["rate"] = [open_loop_rate(cell.parameters) or 0.0 for cell in every["cell"]]
    notes = study.workloads
    every["operation"] = [
        notes[name].operation if name in notes else "operations" for name in every["workload"]
    ]
    wrong = [not {str(each), *parts_of(each)}.isdisjoint(wrong_models) for each in every["model"]]
    every["wrong"] = wrong
    every["control"] = every["workload"].isin(list(CONTROLS))
    every["name"] = names(every, simulated=study.simulated)
    subjects = [Parameters.of(without_rate(cell).parameters).text for cell in every["cell"]]
    every["subject"] = names(every.assign(parameters=subjects), simulated=study.simulated)
    no_runs = np.full((len(blocks), len(rated)), NONE)
    twins = _averaged(table, runs, found)
    known = Cells(every, np.hstack([found, no_runs]), np.hstack([twins, no_runs]), blocks)
    every["of_peak"] = _shares_of_peak(every, known.averaged(runs[THROUGHPUT]), study)
    return known


def _of_runs(runs: pd.DataFrame, study: StudyLine) -> tuple[pd.DataFrame, Integers]:
    """The cells of some runs in the order in which they are shown, twins last, and the place of
    each run's cell.
    """
    number = runs.groupby([*CELL, "twin"], observed=True, sort=False).ngroup().to_numpy()
    first = np.flatnonzero(~pd.Series(number).duplicated().to_numpy())
    table = runs.loc[runs.index[first], [*CELL, "twin", "region"]].reset_index(drop=True)
    cells = [_cell(row) for row in table.to_dict("records")]
    table["cell"] = pd.Series(cells, dtype=object)
    rank = in_order(study)
    ranks = [(twin, rank(cell)) for twin, cell in zip(table["twin"], cells, strict=True)]
    order = sorted(table.index, key=ranks.__getitem__)
    return table.loc[order].reset_index(drop=True), np.argsort(order)[number]


def _cell(row: dict[Hashable, Any]) -> Cell:
    fields = {name: row[name] for name in CELL if name != "parameters"}
    parameters = Parameters.read(str(row["parameters"]))
    return Cell(parameters=parameters, **fields)


def _which_count(runs: pd.DataFrame, place: Integers) -> Flags:
    """Flags of the runs that count: the last valid attempt at a cell in a block."""
    valid = runs["valid"].to_numpy(bool, copy=True)
    again = pd.DataFrame({"cell": place, "block": runs["block"].to_numpy()})[valid]
    valid[valid] = ~again.duplicated(keep="last").to_numpy()
    return np.asarray(valid)


def _averaged(table: pd.DataFrame, runs: pd.DataFrame, found: Integers) -> Integers:
    """The run of its twin that each cell is averaged with, shape (blocks, cells): one that was
    measured in turn with it. `found` are the runs that count, of that shape.

    Two runs in turn are two looks at one stretch of time. The second run of a pair that was not in
    turn is of another stretch, in which nothing else of its block was measured.
    """
    twins, place = np.full_like(found, NONE), places_of(table)
    group = runs["group"].to_numpy(np.float64)
    for twin, cell in table.loc[table["twin"], "cell"].items():
        if cell in place:
            own, other = found[:, place[cell]], found[:, twin]
            in_turn = (own != NONE) & (other != NONE) & (group[own] == group[other])
            twins[:, place[cell]] = np.where(in_turn, other, NONE)
    return twins


def _with_counts(
    table: pd.DataFrame, runs: pd.DataFrame, place: Integers, counts: Flags
) -> pd.DataFrame:
    """The cells with how many runs each has, of which kinds, and the allocator state that most of
    these had; mimalloc has none.
    """

    def count(which: Flags) -> Integers:
        return np.bincount(place[which], minlength=len(table))

    used = runs[counts]
    states = used["allocator_state"].astype(object).mask(used["allocator"] == "mimalloc")
    of_cell = pd.DataFrame({"cell": place[counts], "state": states.to_numpy()}).dropna()
    often = of_cell.groupby(["cell", "state"], sort=False).size()
    ranked = often.sort_values(ascending=False, kind="stable").index.to_frame()
    most = ranked.drop_duplicates("cell").set_index("cell")["state"]
    return table.assign(
        runs=count(counts),
        suspect=count(counts & (runs["validity"] == "suspect").to_numpy()),
        again=count(counts & (runs["attempt"] > 1).to_numpy()),
        left_out=count(~runs["valid"].to_numpy(bool)),
        allocator_state=most.reindex(table.index),
    )


def _rated(table: pd.DataFrame) -> pd.DataFrame:
    """A row for all rates of an open loop together."""
    loaded = [cell for cell in table.loc[~table["twin"], "cell"] if is_open_loop(cell.parameters)]
    first = {without_rate(cell): cell for cell in reversed(loaded)}
    rows = table[table["cell"].isin(first.values()) & ~table["twin"]].assign(rated=True, runs=0)
    rows["cell"] = rows["cell"].map(without_rate)
    rows["parameters"] = [Parameters.of(cell.parameters).text for cell in rows["cell"]]
    return rows


def _place_of_one(table: pd.DataFrame) -> "pd.Series[int]":
    """The place of the cell with one worker on the same curve; of a mixed model one like it."""
    place = places_of(table)

    def of(cell: Cell) -> int:
        return next((place[each] for each in ones_of(cell) if each in place), NONE)

    return table["cell"].map(of)


def _shares_of_peak(table: pd.DataFrame, throughput: Floats, study: StudyLine) -> Floats:
    """The rate of an open loop as a share of the peak, shape (cells,); NaN where none is known.

    A peak is the most that was answered in a closed loop: the best of all cells with as many
    workers that the rates depend on in the same way, by the median over blocks. A study without
    such cells has the peak of the calibration that made its rates, of whatever number of workers.
    `throughput` is in operations/s, of shape (blocks, cells).
    """
    subjects = [(cell.workload, deciding(cell)) for cell in table["cell"]]
    calibrated = {
        (each.workload, Parameters.of(each.parameters)): each.peak_per_s
        for each in study.calibrations
    }
    known = pd.DataFrame(throughput).median()
    of_one = pd.MultiIndex.from_arrays([pd.factorize(pd.Series(subjects))[0], table["workers"]])
    is_closed = (table["rate"] == 0) & ~table["twin"] & ~table["rated"]
    measured = known.where(is_closed).groupby(of_one).transform("max")
    peak = measured.fillna(pd.Series([calibrated.get(each) for each in subjects], dtype=float))
    return np.where(table["rate"] > 0, table["rate"] / peak, np.nan)


def places_of(table: pd.DataFrame) -> dict[Cell, int]:
    """The place of every cell; the second runs of A/A pairs have others."""
    cells = table.loc[~table["twin"], "cell"]
    return dict(zip(cells, cells.index.tolist(), strict=True))


def names(rows: pd.DataFrame, *, simulated: bool = False) -> list[str]:
    """The name of each row of a table: the workload, with those of its parameters that differ
    among the rows, and a sizing other than weak.
    """
    parameters = [Parameters.read(text) for text in rows["parameters"].astype(str)]
    variants = list(zip(rows["workload"], parameters, strict=True))
    short = short_labels(dict.fromkeys(variants), simulated=simulated)
    sizing = rows["sizing"].astype(str).map(lambda name: "" if name == "weak" else f" · {name}")
    return [short[each] + more for each, more in zip(variants, sizing, strict=True)]


def cell_name(row: Mapping[Any, Any]) -> str:
    """`echo · uvloop · 3.14t · threads · N = 2`, of a row with the table's columns."""
    words = (row[each] for each in ("name", "loop", "arm", "model"))
    return f"{' · '.join(map(str, words))} · N = {row['workers']}"
