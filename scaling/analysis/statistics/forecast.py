"""Forecasts: the precision that a study will reach, and the blocks that it needs for a verdict."""

import math
from collections.abc import Iterable, Mapping
from statistics import NormalDist

import numpy as np

from scaling.analysis.statistics.estimate import median
from scaling.analysis.statistics.hypotheses import ERROR_RATE
from scaling.analysis.table.latency import histograms_of, summary
from scaling.analysis.table.ticks import throughputs
from scaling.journal.record import Cell, RunLine
from scaling.study.load import is_open_loop
from scaling.study.presets import FEWEST_FOR_INTERVAL

# --------------------------------------------------------------------------- blocks until a verdict
# How many blocks a study needs until a ratio that is inconclusive has a verdict.
#
# The logarithm of a ratio scatters by s from block to block; of two studies, whose runs are not
# paired, s² is the sum of both variances. A verdict needs two things: the t test at the level a of
# its family, and the 95 % interval. With n blocks the mean has the variance s² / n, and what the
# interval is around e s² / n: e is π / 2 for the median and π / 3 for the Hodges-Lehmann estimate
# (E. L. Lehmann, Nonparametrics: Statistical Methods Based on Ranks (1975), 2.4, for normal
# values). If the ratio is what was measured, at a distance d from the margin, each of the two finds
# it with the probability `POWER` from this n on, with e = 1 for the test and a = 5 % for the
# interval:
#
# n = (z(1 - a/2) + z(POWER))² e s² / d² + z(1 - a/2)² / 4
#
# The last term is for few blocks (W. C. Guenther, The American Statistician 35 (1981), 243). Within
# the margin both sides have to be excluded, and each gets half of the chance to miss, which is more
# than enough where the ratio is not in the middle. Scatter that is known from a few blocks makes
# this a rough figure.

POWER = 0.8
OF_MEDIAN, OF_HODGES_LEHMANN = math.pi / 2, math.pi / 3


def blocks_to_decide(
    scatter: float, ratio: float, margin: float, level: float = ERROR_RATE, e: float = OF_MEDIAN
) -> float:
    """The blocks of a study (of each of two), at least six; `scatter` is s, `e` as above.

    Infinite for a ratio at the margin, which no number of blocks decides. NaN where the scatter is
    not known.
    """
    if math.isnan(scatter) or not ratio > 0:
        return math.nan
    at, edge = abs(math.log(ratio)), math.log1p(margin)
    distance = abs(at - edge)
    if not distance:
        return math.inf
    found = (1 + POWER) / 2 if at <= edge else POWER
    needed = (
        _blocks(part * scatter**2 / distance**2, 1 - alpha / 2, found)
        for part, alpha in ((1.0, level), (e, ERROR_RATE))
    )
    return max(FEWEST_FOR_INTERVAL, math.ceil(max(needed)))


def _blocks(variance: float, sure: float, found: float) -> float:
    z, z_found = map(NormalDist().inv_cdf, (sure, found))
    return variance * (z + z_found) ** 2 + z**2 / 4


# ------------------------------------------------------------------------- precision to be expected

type Place = tuple[int, Cell]  # block and cell


class PairScatter:
    """The scatter of all valid A/A pairs among the runs so far, which are not kept.

    `cells` are those of the study. Of several attempts at a run the last valid one counts. In an
    open loop the schedule sets the throughput: where a pair is of one, the scatter is that of P99
    at the middle rate of each workload, which is the headline, else that of throughput over all
    pairs; where cells take turns, over those whose runs are in turn with each other.
    """

    def __init__(self, cells: Iterable[Cell]) -> None:
        twins = [cell for cell in cells if cell.twin]
        headline = {  # of each workload the first, which is at the middle rate
            cell.workload: cell for cell in reversed(twins) if is_open_loop(cell.parameters)
        }
        closed = (cell for cell in twins if not is_open_loop(cell.parameters))
        self._paired = {cell.but(twin=False) for cell in (*closed, *headline.values())}
        self._groups: dict[Place, int | None] = {}
        self._per_s: dict[Place, float] = {}
        self._p99_s: dict[Place, float] = {}

    def add(self, run: RunLine, *, is_valid: bool) -> None:
        """One more run; of a cell without a twin nothing is kept."""
        if not is_valid or run.cell.but(twin=False) not in self._paired:
            return
        place = run.block, run.cell
        if run.load is not None and run.load.rate_per_s is not None:
            self._p99_s[place] = summary(histograms_of(run)).get("latency_p99_s", math.nan)
        else:
            self._groups[place] = run.group
            self._per_s[place] = float(throughputs([run.record])[0])

    @property
    def figure(self) -> str:
        """What scatters, `P99`; empty where it is throughput.

        Pairs in turn scatter by as much as other ratios in turn do, and by less than gains: between
        Ns nothing is in turn.
        """
        if _log_ratios(self._p99_s):
            return "P99"
        return "in-turn" if any(group is not None for group in self._groups.values()) else ""

    @property
    def value(self) -> float:
        """Root mean square of ln(second over first run); NaN without a pair."""
        found = _log_ratios(self._p99_s) or _log_ratios(self._per_s, self._groups)
        return float(np.sqrt(np.mean(np.square(found)))) if found else math.nan


def _log_ratios(
    figures: Mapping[Place, float], groups: Mapping[Place, int | None] | None = None
) -> list[float]:
    """ln(second over first run) of every complete pair, with both runs in one of the `groups`."""
    found = []
    for (block, cell), ours in figures.items():
        other = block, cell.but(twin=False)
        theirs = figures.get(other, math.nan)
        apart = groups is not None and groups[block, cell] != groups.get(other)
        if cell.twin and ours > 0 and theirs > 0 and not apart:
            found.append(math.log(ours / theirs))
    return found


def expected_half_width(scatter: float, blocks: int) -> float:
    """Half the width, relative to the ratio, that the interval is expected to have with `blocks`.

    Infinite where so few blocks give no interval; NaN where the scatter is not known.
    """
    if math.isnan(scatter):
        return math.nan
    ranks = np.arange(1, blocks + 1)
    shares = (ranks - 0.375) / (blocks + 0.25)
    values = np.exp([scatter * NormalDist().inv_cdf(share) for share in shares])
    return median(values, "×").relative_half_width
