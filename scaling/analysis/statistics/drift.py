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

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from scaling.analysis.arrays import Floats, Integers
from scaling.analysis.statistics.intervals import COVERAGE, medians
from scaling.analysis.table.groups import CELL, in_open_loop, require_one_study
from scaling.analysis.validity.finding import TOLERANCE
from scaling.base import formats
from scaling.study.presets import FEWEST_FOR_INTERVAL

# ------------------------------------------------------------------------------ the Theil–Sen slope
# The Theil–Sen slope and its interval, after P. K. Sen, JASA 63 (1968), 1379–1389, equation 2.6.
#
# `scipy.stats.theilslopes` gives the same, but `scipy.stats` takes a third of a second to import.


def theil_sen(x: Floats, y: Floats, coverage: float) -> Floats:
    """Slope of `y` over `x`, its lower and its upper bound; shapes in: (points,), out: (3,).

    `x` must have two values that differ.
    """
    from scipy.special import ndtri  # slow to import

    one, other = np.triu_indices(len(x), 1)
    rises, runs = y[one] - y[other], x[one] - x[other]
    slopes = np.sort(rises[runs != 0] / runs[runs != 0])
    ties = (np.unique(values, return_counts=True)[1] for values in (x, y))
    variance = (_variation(np.array(len(x))) - sum(_variation(tied) for tied in ties)) / 18
    reach = float(ndtri((1 + coverage) / 2)) * np.sqrt(max(variance, 0))
    low = max(round((len(slopes) - reach) / 2) - 1, 0)
    high = min(round((len(slopes) + reach) / 2), len(slopes) - 1)
    return np.array([np.median(slopes), slopes[low], slopes[high]])


def _variation(counts: np.typing.NDArray[np.int64]) -> int:
    return int((counts * (counts - 1) * (2 * counts + 5)).sum())


# -------------------------------------------------------------------------------------------- drift

CELLS = [*CELL, "twin"]

type Word = Literal["none", "faster", "slower", "inconclusive"]


class Change(NamedTuple):
    """A change as a share of a cell's median, with its 95 % interval; `n` is 0 where it is not
    known.
    """

    point: float
    low: float
    high: float
    n: int


UNKNOWN = Change(np.nan, np.nan, np.nan, 0)


@dataclass(frozen=True, slots=True)
class Drift:
    """How throughput changed over a study, as shares of a cell's median.

    `over_time` is from the first block to the last, `over_block` from the first run of a block to
    its last. Below six blocks nothing is estimated (n = 0 and NaN).
    """

    over_time: Change
    over_block: Change

    @property
    def word(self) -> Word:
        """The drift over time: `faster` or `slower` only where the whole interval says so."""
        return _word(self.over_time)

    @property
    def word_over_block(self) -> Word:
        """The drift from the beginning of a block to its end."""
        return _word(self.over_block)

    @property
    def text(self) -> str:
        """A sentence for the tables; empty where nothing drifted."""
        changes = [
            f"{_in_words(value)} from {span}"
            for value, span in (
                (self.over_time, "its first block to its last"),
                (self.over_block, "the beginning of a block to its end"),
            )
            if _word(value) in ("faster", "slower")
        ]
        if not changes:
            return ""
        return (
            f"The study drifted: runs became {', and '.join(changes)}. Ratios are paired inside "
            "blocks and not affected; absolute figures vary more."
        )


def drift(frame: pd.DataFrame) -> Drift:
    """The drift of a study, from the valid runs of a frame of `scaling.load`.

    Raises:
        UsageError: the frame holds several studies.
    """
    require_one_study(frame)
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
    return Drift(
        over_time=_line_through(_by_block(since_s, blocks), _by_block(speed, blocks)),
        over_block=_slopes(_without_cell(place, cells), speed, blocks, place),
    )


def _without_cell(values: Floats, cells: Integers) -> Floats:
    """Values less the median of their cell; shape in and out: (runs,)."""
    series = pd.Series(values)
    return np.asarray(series - series.groupby(cells).transform("median"), np.float64)


def _by_block(values: Floats, blocks: Integers) -> Floats:
    """The median of each block; shape (blocks,)."""
    return np.asarray(pd.Series(values).groupby(blocks).median(), np.float64)


def _line_through(times: Floats, speeds: Floats) -> Change:
    """How much speed changes from the first time to the last."""
    known = np.isfinite(times) & np.isfinite(speeds)
    times, speeds = times[known], speeds[known]
    if len(times) < FEWEST_FOR_INTERVAL or np.ptp(times) == 0:
        return UNKNOWN
    slopes = theil_sen(times, speeds, COVERAGE)
    slope, low, high = _share(slopes * np.ptp(times)).tolist()
    return Change(slope, low, high, len(times))


def _slopes(places: Floats, speeds: Floats, blocks: Integers, positions: Floats) -> Change:
    """How much speed changes from a block's first place to its last: the blocks' median.

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
    point, low, high, n = (each[0] for each in medians(_share(slopes * np.ptp(positions))[:, None]))
    return Change(float(point), float(low), float(high), int(n))


def _share(logs: Floats) -> Floats:
    """Changes of the logarithm as shares; what no float can hold is infinite."""
    with np.errstate(over="ignore"):
        return np.expm1(logs)


def _word(value: Change) -> Word:
    """The word for a change; less than the margin from end to end is none."""
    if not value.n:
        return "inconclusive"
    if value.low > 0 and value.point > TOLERANCE:
        return "faster"
    return "slower" if value.high < 0 and value.point < -TOLERANCE else "none"


def _in_words(value: Change) -> str:
    """`4.1 % slower (2.0–6.3 %)`."""
    low, high = sorted((abs(value.low), abs(value.high)))
    bounds = f"{formats.number(100 * low)}–{formats.number(100 * high)} %"
    return f"{formats.number(100 * abs(value.point))} % {_word(value)} ({bounds})"
