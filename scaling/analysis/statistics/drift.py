"""Drift: whether a study's machine got faster or slower while it was measured.

Every run is compared with the median of its cell, as a logarithm: what is left is noise and drift.
In an open loop throughput is the schedule's, and the reciprocal of CPU time per request takes its
place. Over time, each block is one value, the median of its runs, and a line is fitted to the
blocks (P. K. Sen, JASA 63 (1968), 1379–1389, interval included). Over the position in the block,
each block gives the slope of its own line, and their median is estimated like any other figure. A
block is the unit of replication here as everywhere.

Blocks in random order and ratios inside a block keep drift out of every comparison. It widens the
intervals of absolute figures, and two studies that are compared may differ by it.
"""

import numpy as np
import pandas as pd

from scaling.analysis.arrays import Floats, Integers
from scaling.analysis.statistics.intervals import COVERAGE, medians
from scaling.analysis.table.groups import CELL, in_open_loop
from scaling.analysis.validity.finding import TOLERANCE
from scaling.study.presets import FEWEST_FOR_INTERVAL

CELLS = [*CELL, "twin"]
OVER_TIME, OVER_BLOCK = "its first block to its last", "the beginning of a block to its end"
UNKNOWN = (np.nan, np.nan, np.nan, 0)


def drift(frame: pd.DataFrame) -> pd.DataFrame:
    """The changes of throughput over a study, by the valid runs of a frame of `scaling.load`.

    A row for each of `OVER_TIME` and `OVER_BLOCK`, its index. Columns: the change as a share of a
    cell's median (`point`), its 95 % interval (`low`, `high`), the number of blocks (`n`; 0 with
    NaN below six), and `word`: `faster` or `slower` only where the whole interval says so and the
    change is more than the margin, else `none`; `inconclusive` where the change is not known.
    """
    pace, at_a_rate = frame["throughput_per_s"], in_open_loop(frame)
    if at_a_rate.any():
        pace = pace.where(~at_a_rate, 1 / frame["cpu_s_per_op"])
    runs = frame[[*CELLS, "block", "position", "attempt", "at"]].assign(pace=pace)
    first = runs[frame["valid"] & (frame["attempt"] == 1) & (pace > 0)]
    grouped = first.groupby(CELLS, observed=True, sort=False, dropna=False)
    cells = np.asarray(grouped.ngroup(), np.int64)
    blocks = np.asarray(np.unique(first["block"].to_numpy(), return_inverse=True)[1], np.int64)
    speed = _without_cell(np.log(first["pace"].to_numpy()), cells)
    since_s = np.asarray((first["at"] - first["at"].min()).dt.total_seconds(), np.float64)
    place = first["position"].to_numpy(np.float64)
    changes = {
        OVER_TIME: _line_through(_by_block(since_s, blocks), _by_block(speed, blocks)),
        OVER_BLOCK: _slopes(_without_cell(place, cells), speed, blocks, place),
    }
    found = pd.DataFrame.from_dict(changes, "index", columns=["point", "low", "high", "n"])
    kinds = {
        "inconclusive": found["n"] == 0,
        "faster": (found["low"] > 0) & (found["point"] > TOLERANCE),
        "slower": (found["high"] < 0) & (found["point"] < -TOLERANCE),
    }
    return found.assign(word=np.select(list(kinds.values()), list(kinds), "none"))


def _without_cell(values: Floats, cells: Integers) -> Floats:
    """Values less the median of their cell; shape in and out: (runs,)."""
    series = pd.Series(values)
    return np.asarray(series - series.groupby(cells).transform("median"), np.float64)


def _by_block(values: Floats, blocks: Integers) -> Floats:
    """The median of each block; shape (blocks,)."""
    return np.asarray(pd.Series(values).groupby(blocks).median(), np.float64)


def _line_through(times: Floats, speeds: Floats) -> tuple[float, ...]:
    from scipy.stats import theilslopes  # slow to import

    known = np.isfinite(times) & np.isfinite(speeds)
    times, speeds = times[known], speeds[known]
    if len(times) < FEWEST_FOR_INTERVAL or np.ptp(times) == 0:
        return UNKNOWN
    slopes = np.array(theilslopes(speeds, times, COVERAGE))[[0, 2, 3]]
    return (*_share(slopes * np.ptp(times)).tolist(), len(times))


def _slopes(
    places: Floats, speeds: Floats, blocks: Integers, positions: Floats
) -> tuple[float, ...]:
    """The change of speed from a block's first place to its last: the blocks' median.

    Each block's slope is the least-squares one, Σxy / Σx².
    """
    count = int(blocks.max(initial=-1)) + 1
    if count < FEWEST_FOR_INTERVAL:
        return UNKNOWN

    def total(values: Floats) -> Floats:
        return np.bincount(blocks, values, count).astype(np.float64)

    size = total(np.ones(len(blocks)))
    x = places - (total(places) / size)[blocks]
    y = speeds - (total(speeds) / size)[blocks]
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = total(x * y) / total(x * x)
    found = medians(_share(slopes * np.ptp(positions))[:, None])
    return tuple(each[0].item() for each in found)


def _share(logs: Floats) -> Floats:
    """Changes of the logarithm as shares; what no float can hold is infinite."""
    with np.errstate(over="ignore"):
        return np.expm1(logs)
