"""Scaling curves: what the valid runs of a study say, cell by cell, with the spread of each figure.

A curve is everything but N held still; its points are the cells along N. The block is the unit of
replication: ratios are taken inside a block, between runs made close together, and only then is
their median taken. Tables and plots both draw on this and work out nothing themselves.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from scaling.analysis.estimate import Estimate, median
from scaling.errors import UsageError

CURVE = ("study", "workload", "parameters", "sizing", "loop", "arm", "model")
MIB = 1024.0 * 1024.0

type Floats = npt.NDArray[np.float64]
type Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Key:
    """What the runs of one curve have in common."""

    study: str
    workload: str
    parameters: str
    sizing: str
    loop: str
    arm: str
    model: str


@dataclass(frozen=True, slots=True)
class Point:
    """One cell: N workers, and every figure of it over the blocks in which it was valid.

    `speedup` is throughput over that of N = 1 in the same block, `efficiency` is that over N.
    `suspect` of the `runs` are marked so, `again` were made at the end of the study because the
    first attempt was invalid; `left_out` were invalid and are in no figure. `allocator_state` is
    that of the runs; None for mimalloc, which has no states, and where faults are not known.
    """

    workers: int
    region: str | None
    runs: int
    suspect: int
    again: int
    left_out: int
    allocator_state: str | None
    throughput: Estimate
    speedup: Estimate
    efficiency: Estimate
    cpu_s_per_op: Estimate
    memory: Estimate
    lag_p50: Estimate
    lag_max: Estimate
    fairness: Estimate


@dataclass(frozen=True, slots=True)
class Curve:
    """One scaling curve. Memory is `memory_kind`, RSS or PSS; `slope` is MiB per extra worker.

    `values` are the single runs behind the points, for drawing: one array (blocks × N) each for
    `throughput`, `speedup`, `efficiency` and `memory`, NaN where a run is missing or invalid.
    """

    key: Key
    points: list[Point]
    slope: Estimate
    memory_kind: str
    values: dict[str, Floats]

    @property
    def workers(self) -> list[int]:
        """The Ns of the points, ascending."""
        return [point.workers for point in self.points]


def curves(frame: pd.DataFrame) -> list[Curve]:
    """Every curve in a frame of `scaling.load`, in the order in which they first appear."""
    groups = frame.groupby(list(CURVE), observed=True, sort=False, dropna=False)
    return [_curve(Key(*map(str, names)), runs) for names, runs in groups]


def _curve(key: Key, runs: pd.DataFrame) -> Curve:
    valid = runs[runs["valid"]].drop_duplicates(["block", "workers"], keep="last")
    workers, first = np.unique(runs["workers"].to_numpy(), return_index=True)
    regions = runs["region"].iloc[first].tolist()
    blocks = np.unique(valid["block"].to_numpy())
    rows = np.searchsorted(blocks, valid["block"].to_numpy())
    columns = np.searchsorted(workers, valid["workers"].to_numpy())

    def grid(name: str) -> Floats:
        """One column of the frame as blocks × N."""
        table = np.full((len(blocks), len(workers)), np.nan)
        table[rows, columns] = valid[name].to_numpy(dtype=np.float64)
        return table

    throughput = grid("throughput_per_s")
    speedup = _over_first(throughput, workers)
    kind, memory = _memory(key.model, grid)
    grids: dict[str, tuple[Floats, str]] = {
        "throughput": (throughput, "operations/s"),
        "speedup": (speedup, "×"),
        "efficiency": (speedup / workers, ""),
        "cpu_s_per_op": (grid("cpu_s_per_op"), "s"),
        "memory": (memory / MIB, "MiB"),
        "lag_p50": (grid("lag_p50_s"), "s"),
        "lag_max": (grid("lag_max_s"), "s"),
        "fairness": (grid("fairness"), ""),
    }
    used = _counts(valid, workers)
    suspect = _counts(valid[valid["validity"] == "suspect"], workers)
    again = _counts(valid[valid["attempt"] > 1], workers)
    left_out = _counts(runs[~runs["valid"]], workers)
    points = [
        Point(
            workers=int(n),
            region=regions[column] if isinstance(regions[column], str) else None,
            runs=int(used[column]),
            suspect=int(suspect[column]),
            again=int(again[column]),
            left_out=int(left_out[column]),
            allocator_state=_state(valid[valid["workers"] == n]),
            **{name: median(table[:, column], unit) for name, (table, unit) in grids.items()},
        )
        for column, n in enumerate(workers)
    ]
    values = {name: grids[name][0] for name in ("throughput", "speedup", "efficiency", "memory")}
    return Curve(key, points, _slope(memory / MIB, workers), kind, values)


def require_one_study(frame: pd.DataFrame) -> None:
    """Make sure that a frame's blocks are those of one study, so that they pair what they hold.

    Raises:
        UsageError: it holds more than one.
    """
    names = list(dict.fromkeys(map(str, frame["study"])))
    if len(names) > 1:
        raise UsageError(
            f"these are the runs of {len(names)} studies ({', '.join(names)}), whose blocks do not "
            f"pair: take one study at a time, or `scaling compare` for one against another"
        )


def _state(runs: pd.DataFrame) -> str | None:
    """The allocator state of a cell's valid runs; those in another state than most are invalid."""
    states = runs["allocator_state"][runs["allocator"] != "mimalloc"].dropna()
    found = Counter(map(str, states)).most_common(1)
    return found[0][0] if found else None


def _counts(runs: pd.DataFrame, workers: Integers) -> Integers:
    """How many of the runs there are at each N."""
    return np.bincount(np.searchsorted(workers, runs["workers"]), minlength=len(workers))


def _over_first(throughput: Floats, workers: Integers) -> Floats:
    """Throughput over that of N = 1 in the same block; NaN where a block has no such run."""
    if workers[0] != 1:
        return np.full_like(throughput, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = throughput / throughput[:, :1]
    return np.where(np.isfinite(ratio), ratio, np.nan)


def _memory(model: str, grid: Callable[[str], Floats]) -> tuple[str, Floats]:
    """RSS; for processes PSS where it is known, since they share pages that RSS counts for each."""
    if model == "processes":
        pss = grid("pss_bytes")
        if np.isfinite(pss).any():
            return "PSS", pss
    return "RSS", grid("rss_bytes")


def _slope(memory_mib: Floats, workers: Integers) -> Estimate:
    """MiB per extra worker: the least-squares line of each block over N, then their median."""
    slopes = []
    for block in memory_mib:
        known = np.isfinite(block)
        if known.sum() >= 2:
            slopes.append(float(np.polyfit(workers[known], block[known], 1)[0]))
    return median(slopes, "MiB per extra worker")
