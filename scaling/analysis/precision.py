"""How precisely a study's headline ratios are known (`--precision`), and how precise they will be.

The ratios and the rule are fixed before anything is measured, and depend on no result but the width
of its interval: blocks are added while an interval is wide, never because of what a ratio is.
Looking after every block still favours intervals that happen to be narrow. Of a study with a single
headline ratio they cover 91 to 95 % instead of 95 %, of one with four, which must all be narrow, 94
to 95 % (normal scatter of 1 to 8 %, asked for 2 %;
tests/analysis/test_order_of_runs_lowers_noise.py).
"""

import math
from collections.abc import Iterable, Mapping
from statistics import NormalDist

import numpy as np
import pandas as pd

from scaling.analysis.ratios import Ratio
from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.estimate import RATIO, Estimate, median
from scaling.analysis.table.groups import names_without_rate
from scaling.analysis.table.latency import PERCENTILES, histograms_of, summary
from scaling.analysis.table.ticks import throughputs
from scaling.journal.record import Cell, RunLine, StudyLine
from scaling.study.load import is_open_loop
from scaling.study.questions import OVER_PROCESSES, THROUGHPUT

AT_PEAK = (("headline", THROUGHPUT), (OVER_PROCESSES, THROUGHPUT))


def headline_precision(frame: pd.DataFrame, study: StudyLine) -> dict[str, Estimate]:
    """Every headline ratio of a study, by its name.

    These are the speed-up of each curve at its own headline N and, where there are arms or models
    to compare, the whole ladder's and threads (or interpreters) over processes at the headline N of
    their section and loop. Of an open loop they are the primary ratios alone: capacity at each
    objective, or P99 at the middle rate where the study states none. Ratios without a single value
    are left out: more blocks would not give them one.

    Raises:
        UsageError: the frame holds several studies.
    """
    results = StudyResults(frame, study)
    found: dict[str, Estimate] = {}
    for compared in results.judged:
        if compared.section.rate_per_s is None and not compared.is_across_loops:
            for curve in compared.curves:
                n = curve.headline_n
                if n is not None and (point := curve.at(n)) is not None:
                    who = f"{curve.key.arm} {curve.key.model}, N = {n} over 1"
                    found[f"{compared.title}: {who}"] = point.speedup
            for ratio in compared.ratios:
                at_headline = ratio.of.workers == compared.headline_n
                if at_headline and (ratio.question, ratio.measure) in AT_PEAK:
                    found[f"{compared.title}: {_of_and_over(ratio)}"] = ratio
    return {name: ratio for name, ratio in (found | _under_load(results)).items() if ratio.n}


def _of_and_over(ratio: Ratio) -> str:
    """`3.14t over 3.14, N = 2`; of threads over processes with their models."""
    of, over = ratio.of, ratio.over
    if ratio.question == "headline":
        return f"{of.arm} over {over.arm}, N = {of.workers}"
    return f"{of.arm} {of.model} over {over.arm} {over.model}, N = {of.workers}"


def _under_load(results: StudyResults) -> dict[str, Estimate]:
    """The primary ratios of an open loop."""
    found = [
        each
        for each in results.ratios
        if each.is_headline and each.measure != THROUGHPUT and each.question == OVER_PROCESSES
    ]
    names = names_without_rate((each.of for each in found), simulated=results.study.simulated)
    return {
        f"{names[each.of]}: {PERCENTILES.get(each.measure, each.measure)} of "
        f"{_of_and_over(each)}": each
        for each in found
    }


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
    return median(values, RATIO).relative_half_width
