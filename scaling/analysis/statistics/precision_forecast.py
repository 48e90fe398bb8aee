"""What precision a study will reach, estimated from its A/A pairs while it is being measured.

The two runs of an A/A pair, in one block, are runs of the same cell, and the true value of their
ratio is 1. Its logarithm scatters by sqrt(2) times what a run scatters by, just as that of any
ratio inside a block does, so the root mean square of these logarithms, over all workloads and the
blocks so far, stands for the scatter s of a headline ratio.

With n blocks such a ratio's values are expected at exp(s z_i), z_i = Phi^-1((i - 3/8) / (n + 1/4))
(the mean order statistics of a normal sample; G. Blom, Statistical Estimates and Transformed
Beta-Variables, 1958). The interval that the study's own estimator gives to these values is what it
is expected to give. That noise is alike in all these cells is assumed, so this is a rough figure.
"""

import math
from collections.abc import Iterable, Mapping
from statistics import NormalDist

import numpy as np

from scaling.analysis.statistics.estimate import median
from scaling.analysis.table.latency import histograms_of, summary
from scaling.analysis.table.ticks import throughputs
from scaling.journal.record import Cell, RunLine
from scaling.study.load import is_open_loop

type Place = tuple[int, Cell]  # block and cell


class PairScatter:
    """The scatter of all valid A/A pairs among the runs so far, which are not kept.

    `cells` are those of the study. Of several attempts at a run the last valid one counts. In an
    open loop the schedule sets the throughput: where a pair is of one, the scatter is that of P99
    at the middle rate of each workload, which is the headline, else that of throughput over all
    pairs.
    """

    def __init__(self, cells: Iterable[Cell]) -> None:
        twins = [cell for cell in cells if cell.twin]
        headline = {  # of each workload the first, which is at the middle rate
            cell.workload: cell for cell in reversed(twins) if is_open_loop(cell.parameters)
        }
        closed = (cell for cell in twins if not is_open_loop(cell.parameters))
        self._paired = {cell.but(twin=False) for cell in (*closed, *headline.values())}
        self._in_turn = False
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
            self._in_turn |= run.group is not None
            self._per_s[place] = float(throughputs([run.record])[0])

    @property
    def figure(self) -> str:
        """What scatters, `P99`; empty where it is throughput.

        Pairs in turn scatter by as much as other ratios in turn do, and by less than gains: between
        Ns nothing is in turn.
        """
        if _log_ratios(self._p99_s):
            return "P99"
        return "in-turn" if self._in_turn else ""

    @property
    def value(self) -> float:
        """Root mean square of ln(second over first run); NaN without a pair."""
        found = _log_ratios(self._p99_s) or _log_ratios(self._per_s)
        return float(np.sqrt(np.mean(np.square(found)))) if found else math.nan


def _log_ratios(figures: Mapping[Place, float]) -> list[float]:
    """ln(second over first run) of every complete pair."""
    found = []
    for (block, cell), ours in figures.items():
        theirs = figures.get((block, cell.but(twin=False)), math.nan)
        if cell.twin and ours > 0 and theirs > 0:
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
