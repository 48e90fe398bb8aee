"""Scaling curves: what the valid runs of a study show, cell by cell, with each figure's spread.

The cells of a curve differ in N alone; they are its points. The block is the unit of replication:
ratios are taken inside a block, between runs made close together, and only then is their median
taken. Tables and plots both draw on this and work out nothing themselves.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from scaling.analysis.arrays import Floats, Integers
from scaling.analysis.curves.curve import Curve, Point
from scaling.analysis.curves.memory import MIB, READINGS, MemoryKind, memory_kind, slope
from scaling.analysis.statistics.estimate import medians
from scaling.analysis.table.columns import SHOWN
from scaling.analysis.table.groups import CURVE, curve_cell, p99_is_bound
from scaling.analysis.table.own_figures import unit_of
from scaling.analysis.table.service_use import CPU_OF_SERVICES
from scaling.journal.record import Cell
from scaling.study.load import open_loop_rate
from scaling.study.questions import section_of

SINGLY = ("cpu_s_per_op", *CPU_OF_SERVICES, "latency_p99_s")  # drawn run by run
FIGURES = tuple(dict.fromkeys([*SHOWN, *READINGS.values()]))
OF_MEMORY = [FIGURES.index(name) for name in READINGS.values()]

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
    columns = _columns(frame)
    names = keys.iloc[order[[0, *borders]] if len(order) else []]
    runs = np.flatnonzero(first_ones)[order]
    every = [
        (str(study), curve_cell(*key), _cut(columns, places))
        for (study, *key), places in zip(
            names.itertuples(index=False, name=None), np.split(runs, borders), strict=False
        )
    ]
    sides = defaultdict(list)
    for study, key, own in every:
        sides[study, section_of(key)].append(own["figures"][OF_MEMORY][:, own["used"]])
    kinds = {table: memory_kind(readings) for table, readings in sides.items()}
    return [_curve(study, key, own, kinds[study, section_of(key)]) for study, key, own in every]


def _cut(columns: Columns, runs: npt.NDArray[Any]) -> Columns:
    return {name: values[..., runs] for name, values in columns.items()}


def _columns(runs: pd.DataFrame) -> Columns:
    """What curves are made of, as arrays of shape (runs,): thousands of cells are cut out of it.

    `used` is whether a run is in the figures: valid, no second one of an A/A pair, and the last
    attempt at its cell and block. `figures` are those of `FIGURES`, of shape (figures, runs).
    """
    valid = runs["valid"].to_numpy()
    used = valid & ~runs["twin"].to_numpy()
    used[used] = ~runs.loc[used, [*CURVE, "workers", "block"]].duplicated(keep="last").to_numpy()
    states = runs["allocator_state"].astype(object).to_numpy(copy=True)
    states[(runs["allocator"] == "mimalloc").to_numpy()] = None  # it has none
    return {
        "used": used,
        "valid": valid,
        "suspect": (runs["validity"] == "suspect").to_numpy(),
        "again": runs["attempt"].to_numpy() > 1,
        "outlier": runs["outlier"].to_numpy(np.float64),
        "behind": p99_is_bound(runs).astype(np.float64),
        "region": runs["region"].astype(object).to_numpy(),
        "state": states,
        "workers": runs["workers"].to_numpy(),
        "block": runs["block"].to_numpy(),
        "figures": np.array([runs[name].to_numpy(np.float64) for name in FIGURES]),
        "own": runs["figures"].to_numpy(),
    }


def _curve(study: str, key: Cell, runs: Columns, kind: MemoryKind) -> Curve:
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

    grids = dict(zip(FIGURES, placed(used["figures"]), strict=True))
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
        "speedup": (speedup, "×"),
        "efficiency": (values["efficiency"], ""),
        "memory": (values["memory"], "MiB"),
    }
    shown = {name: (grids[name], column.unit) for name, column in SHOWN.items()}
    own = {name: (placed(values), unit_of(name)) for name, values in _own(used["own"]).items()}
    tables = [*derived.values(), *shown.values(), *own.values()]
    units = [unit for _, unit in tables for _ in workers]
    every = iter(medians(np.hstack([table for table, _ in tables]), units))
    ratios, figures, owns = (
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
            figures={name: each[column] for name, each in figures.items()},
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
