"""Scaling curves: what the valid runs of a study show, cell by cell, with each figure's spread.

The cells of a curve differ in N alone; they are its points. The block is the unit of replication:
ratios are taken inside a block, between runs made close together, and only then is their median
taken. Tables and plots both draw on this and work out nothing themselves.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from scaling.analysis.arrays import Flags, Floats, Integers
from scaling.analysis.statistics.estimate import RATIO, Estimate, median, medians
from scaling.analysis.table.columns import SHOWN
from scaling.analysis.table.groups import CURVE, curve_cell, p99_is_bound, which_count
from scaling.analysis.table.processes import CPU_OF_SERVICES
from scaling.analysis.table.run_fields import unit_of
from scaling.journal.record import Cell, Parameters
from scaling.study.load import open_loop_rate
from scaling.study.questions import section_of

# ------------------------------------------------------------------------------------------- memory
# Memory of curves: which of its readings counts, and what each extra worker adds.
#
# All that is compared is of one kind: PSS, since RSS counts a page that processes share for each of
# them; RSS where one of the sides has no PSS.

MIB = 1024.0 * 1024.0

type MemoryKind = Literal["PSS", "RSS"]

READINGS: dict[MemoryKind, str] = {"PSS": "pss_bytes", "RSS": "rss_bytes"}  # columns of a frame


def memory_kind(sides: Iterable[Floats]) -> MemoryKind:
    """PSS if each side that has any reading of RSS has one of PSS; else RSS.

    A side is the `READINGS` of the valid runs of a curve, shape (2, runs); NaN is none.
    """
    known = [np.isfinite(readings).any(axis=1) for readings in sides]
    return "PSS" if all(has_pss or not has_rss for has_pss, has_rss in known) else "RSS"


def slope(memory_mib: Floats, workers: Integers, regions: Sequence[object]) -> Estimate:
    """MiB per extra worker: the slope of each block over `ns_of_slope`, then their median."""
    inside = ns_of_slope(regions)
    return median(slopes(memory_mib[:, inside], workers[inside]), "MiB per extra worker")


def ns_of_slope(regions: Sequence[object]) -> Flags:
    """Which of a curve's Ns a slope is over, by their regions: those with a CPU for each worker.

    Workers that wait for a CPU let garbage and buffers pile up, which is no cost of a worker. Where
    fewer than two Ns are inside, all count.
    """
    inside = np.array([region != "oversubscribed" for region in regions], np.bool_)
    return inside if inside.sum() > 1 else np.ones_like(inside)


def slopes(values: Floats, workers: Integers) -> Floats:
    """What each extra worker adds in each block, shape (blocks,): the least-squares line over N.

    `values` are of shape (blocks, Ns); NaN is left out, and is the slope of a block with one N.
    """
    known = np.isfinite(values)
    counts = np.maximum(known.sum(axis=1, keepdims=True), 1)
    middle = (known * workers).sum(axis=1, keepdims=True) / counts
    aside = np.where(known, workers - middle, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):  # a block with one N has no slope
        found: Floats = (aside * np.nan_to_num(values)).sum(axis=1) / (aside**2).sum(axis=1)
    return found


# -------------------------------------------------------------------------------- curves and points
# What a scaling curve is: its key, its points along N, and the figures of each point.


@dataclass(frozen=True, slots=True)
class Point:
    """One cell: N workers, and every figure of it over the blocks in which it was valid.

    `speedup` is throughput over that of N = 1 in the same block, `efficiency` is that over N. Of
    the `runs`, `suspect` are marked as such, and `again` are second attempts, because the first was
    invalid or disturbed; `left_out` runs were invalid and are in no figure. `allocator_state` is
    that of the runs; None for mimalloc, which has no states, and where faults are not known.

    `figures` are the measures that tables show, by column
    (`scaling.analysis.table.columns.SHOWN`), in the columns' units. `memory` is what the runs held
    in the window, in MiB. `own` are the workload's own figures, by the names that it gives them
    (`scaling.analysis.table.run_fields`).
    """

    workers: int
    region: str | None
    runs: int
    suspect: int
    again: int
    left_out: int
    allocator_state: str | None
    speedup: Estimate
    efficiency: Estimate
    memory: Estimate
    figures: dict[str, Estimate]
    own: dict[str, Estimate]

    @property
    def throughput(self) -> Estimate:
        """Operations per s of all workers."""
        return self.figures["throughput_per_s"]

    def estimate(self, what: str) -> Estimate:
        """`throughput`, `speedup`, `efficiency`, `memory`, or one of `figures` by its column."""
        found: Estimate = self.figures[what] if what in self.figures else getattr(self, what)
        return found


@dataclass(frozen=True, slots=True)
class Curve:
    """One scaling curve of a study; its `key` is a cell without N.

    Memory is `memory_kind`, RSS or PSS; `slope` is MiB per extra worker.

    `values` are the single runs behind the points, for drawing: one array (blocks × N) each for
    `throughput`, `speedup`, `efficiency`, `memory`, `cpu_s_per_op`, that of each service of a stack
    and `latency_p99_s`, NaN where a run is missing or invalid, and `outlier` and `behind`, 1 where
    a run is one or its P99 is a lower bound.
    """

    study: str
    key: Cell
    points: list[Point]
    slope: Estimate
    memory_kind: MemoryKind
    values: dict[str, Floats]

    @property
    def names(self) -> dict[str, str]:
        """What the runs have in common, by column of the frame; parameters as JSON."""
        texts = {"study": self.study, "parameters": Parameters.of(self.key.parameters).text}
        return {name: texts.get(name) or getattr(self.key, name) for name in CURVE}

    @property
    def workers(self) -> list[int]:
        """The Ns of the points, ascending."""
        return [point.workers for point in self.points]

    def at(self, workers: int) -> Point | None:
        """Its point at N workers; None where it was not run."""
        return next((point for point in self.points if point.workers == workers), None)

    def runs(self, measure: str, workers: int) -> Floats:
        """The values of one cell's runs, shape (blocks,); NaN where P99 is only a lower bound."""
        at = self.workers.index(workers)
        values = self.values[measure][:, at]
        if measure == "latency_p99_s":
            values = np.where(self.values["behind"][:, at] == 1, np.nan, values)
        return values

    @property
    def headline_n(self) -> int | None:
        """The N of the curve's headline gain: the largest that has a core for each worker, or the
        largest where only one worker has. None where no N has a gain.
        """
        gains = [point for point in self.points if point.workers > 1 and point.speedup.n]
        on_cores = [point for point in gains if point.region == "cores"]
        return max((point.workers for point in on_cores or gains), default=None)


# ---------------------------------------------------------------------------------------- summarise

SINGLY = ("cpu_s_per_op", *CPU_OF_SERVICES, "latency_p99_s")  # drawn run by run
NEEDED = tuple(READINGS.values())

type Columns = dict[str, npt.NDArray[Any]]


def curves(frame: pd.DataFrame) -> list[Curve]:
    """Every curve in a frame of `scaling.load`, in the order in which they first appear.

    The second runs of A/A pairs are in none: they are there for the noise floor
    (`scaling.analysis.statistics.noise`).
    """
    first_ones = ~frame["twin"].to_numpy(np.bool_)
    keys = frame.loc[first_ones, list(CURVE)]
    number = keys.groupby(list(CURVE), observed=True, sort=False, dropna=False).ngroup().to_numpy()
    order = np.argsort(number, kind="stable")
    borders = np.flatnonzero(np.diff(number[order])) + 1
    known = (name for name in SHOWN if name not in NEEDED and frame[name].notna().any())
    figures = [*NEEDED, *known]  # most columns of most studies have no value
    # Curve by curve: what is cut out of it is not copied again.
    columns = _cut(_columns(frame, figures), np.flatnonzero(first_ones)[order])
    names = keys.iloc[order[[0, *borders]] if len(order) else []]
    every = [
        (str(study), curve_cell(*key), _cut(columns, slice(*ends)))
        for (study, *key), ends in zip(
            names.itertuples(index=False, name=None),
            pairwise([0, *borders, len(order)]),
            strict=False,
        )
    ]
    sides = defaultdict(list)
    for study, key, own in every:
        sides[study, section_of(key)].append(own["figures"][: len(NEEDED), own["used"]])
    kinds = {table: memory_kind(readings) for table, readings in sides.items()}
    return [
        _curve(study, key, own, figures, kinds[study, section_of(key)]) for study, key, own in every
    ]


def _cut(columns: Columns, runs: npt.NDArray[Any] | slice) -> Columns:
    return {name: values[..., runs] for name, values in columns.items()}


def _columns(runs: pd.DataFrame, figures: Sequence[str]) -> Columns:
    """What curves are made of, as arrays of shape (runs,): thousands of cells are cut out of it.

    `used` is whether a run is in the figures, which are of shape (figures, runs).
    """
    states = runs["allocator_state"].astype(object).to_numpy(copy=True)
    states[(runs["allocator"] == "mimalloc").to_numpy()] = None  # it has none
    return {
        "used": which_count(runs),
        "valid": runs["valid"].to_numpy(),
        "suspect": (runs["validity"] == "suspect").to_numpy(),
        "again": runs["attempt"].to_numpy() > 1,
        "outlier": runs["outlier"].to_numpy(np.float64),
        "behind": p99_is_bound(runs).astype(np.float64),
        "region": runs["region"].astype(object).to_numpy(),
        "state": states,
        "workers": runs["workers"].to_numpy(),
        "block": runs["block"].to_numpy(),
        "figures": np.array([runs[name].to_numpy(np.float64) for name in figures]),
        "own": runs["figures"].to_numpy(),
    }


def _curve(study: str, key: Cell, runs: Columns, figures: Sequence[str], kind: MemoryKind) -> Curve:
    """The curve of these runs, of whose `figures` alone any is known."""
    used = _cut(runs, runs["used"])
    workers, first = np.unique(runs["workers"], return_index=True)
    regions = runs["region"][first]
    blocks, rows = np.unique(used["block"], return_inverse=True)
    columns = np.searchsorted(workers, used["workers"])

    def placed(values: Floats) -> Floats:
        """A figure of each run as blocks × N, or several figures."""
        table = np.full((*values.shape[:-1], len(blocks), len(workers)), np.nan)
        table[..., rows, columns] = values
        return table

    blank = np.full((len(blocks), len(workers)), np.nan)
    known = zip(figures, placed(used["figures"]), strict=True)
    grids = dict.fromkeys(SHOWN, blank) | dict(known)
    throughput = grids["throughput_per_s"]
    speedup = _over_first(throughput, workers)
    if np.isfinite(grids["offered_per_s"]).any() and open_loop_rate(key.parameters):
        speedup = np.full_like(speedup, np.nan)  # throughput is the schedule's
    memory = grids[READINGS[kind]]
    values = {
        "throughput": throughput,
        "speedup": speedup,
        "efficiency": speedup / workers,
        "memory": memory / MIB,
    }
    derived: dict[str, tuple[Floats, str]] = {
        "speedup": (speedup, RATIO),
        "efficiency": (values["efficiency"], ""),
        "memory": (values["memory"], "MiB"),
    }
    shown = {name: (grids[name], column.unit) for name, column in SHOWN.items()}
    own = {name: (placed(values), unit_of(name)) for name, values in _own(used["own"]).items()}
    tables = [*derived.values(), *shown.values(), *own.values()]
    units = [unit for _, unit in tables for _ in workers]
    every = iter(medians(np.hstack([table for table, _ in tables]), units))
    ratios, medians_of, owns = (
        {name: [next(every) for _ in workers] for name in group} for group in (derived, shown, own)
    )
    runs_at = _counts(used["workers"], workers)
    suspect = _counts(used["workers"][used["suspect"]], workers)
    again = _counts(used["workers"][used["again"]], workers)
    left_out = _counts(runs["workers"][~runs["valid"]], workers)
    points = [
        Point(
            workers=int(n),
            region=regions[column] if isinstance(regions[column], str) else None,
            runs=int(runs_at[column]),
            suspect=int(suspect[column]),
            again=int(again[column]),
            left_out=int(left_out[column]),
            allocator_state=_state(used["state"][columns == column]),
            figures={name: each[column] for name, each in medians_of.items()},
            own={name: each[column] for name, each in owns.items()},
            **{name: each[column] for name, each in ratios.items()},
        )
        for column, n in enumerate(workers)
    ]
    values |= {name: shown[name][0] for name in SINGLY}
    values |= {name: placed(used[name]) for name in ("outlier", "behind")}
    return Curve(study, key, points, slope(memory / MIB, workers, list(regions)), kind, values)


def _state(states: Iterable[object]) -> str | None:
    """The allocator state of a cell's valid runs; those in another state than most are invalid."""
    found = Counter(state for state in states if isinstance(state, str)).most_common(1)
    return found[0][0] if found else None


def _counts(workers_of_runs: Integers, workers: Integers) -> Integers:
    """How many of the runs there are at each N."""
    return np.bincount(np.searchsorted(workers, workers_of_runs), minlength=len(workers))


def _own(figures: npt.NDArray[Any]) -> dict[str, Floats]:
    """The workload's own figures of each run, shape (runs,) each; NaN where a run has none."""
    names = dict.fromkeys(name for each in figures for name in each)
    return {name: np.array([each.get(name, np.nan) for each in figures]) for name in names}


def _over_first(throughput: Floats, workers: Integers) -> Floats:
    """Throughput over that of N = 1 in the same block; NaN where a block has no such run."""
    if workers[0] != 1:
        return np.full_like(throughput, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = throughput / throughput[:, :1]
    return np.where(np.isfinite(ratio), ratio, np.nan)
