"""P99 at one rate: threads without the GIL over the strongest processes, block by block.

All of them were offered the same requests at the same times. The strongest processes are those with
the smallest median P99 at that rate and N, among fresh and forked ones on the arms with the GIL: if
two are alike, noise decides which, so the comparison errs in favour of processes.

The P99 of a run whose server fell behind or declined requests is a lower bound, and a ratio of two
bounds says nothing: it has no value. Where the load generator was late, a latency is an upper
bound, and the one from the send a lower bound: a verdict needs the median of the ratios to lie on
the same side of 1 whatever the truth is between them. The primary hypothesis is the ratio of
threads at the headline N and the middle rate; in a study with objectives it is that of the
capacities, and all ratios here are exploratory.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from scaling.analysis.arrays import Flags, Floats
from scaling.analysis.comparison.paired import Configuration
from scaling.analysis.comparison.rate_ratios import slowness
from scaling.analysis.comparison.version_arms import version_arms
from scaling.analysis.lookup.bounds import shortest_s
from scaling.analysis.served.bounds import FELL_BEHIND, Bounded, bounded, proven
from scaling.analysis.served.open_loop import Subject, open_loop_runs
from scaling.analysis.statistics.noise import NoiseFloor
from scaling.analysis.statistics.pending import Pending
from scaling.analysis.statistics.verdict import LATENCY, RatioVerdict, hypothesis
from scaling.analysis.table.groups import p99_is_bound
from scaling.base.vocabulary import PROCESSES
from scaling.study.load import RATE, middle

P99 = "latency_p99_s"


@dataclass(frozen=True, slots=True)
class LatencyRatio:
    """P99 of `of` over that of `over`, at one rate in requests/s of all workers together."""

    subject: Subject
    rate_per_s: float
    of: Configuration
    over: Configuration
    ratio: RatioVerdict


class _Values(NamedTuple):
    """Of one configuration at one rate, a value for each block.

    P99; whether it is a lower bound; and the least that it can be, P99 from the send where the load
    generator was late.
    """

    p99_s: Floats
    is_bound: Flags
    least_s: Floats


class _Pair(NamedTuple):
    subject: Subject
    rate_per_s: float
    of: Configuration
    over: Configuration
    found: Bounded
    primary: bool


def latency_ratios(
    frame: pd.DataFrame, floor: NoiseFloor, *, primary: bool = True, column: str = P99
) -> Pending[list[LatencyRatio]]:
    """Every ratio of a study; `primary` is whether it has primary hypotheses among them.

    `column` is that of another percentile, for runs with too few requests for P99; the margin is
    the noise of that percentile.
    """
    runs = open_loop_runs(frame)
    groups = runs.groupby("subject", sort=False) if len(runs) else ()
    pairs = [pair for _, own in groups for pair in _of_subject(own, column)]
    hypotheses = [
        hypothesis(
            pair.found.ratios,
            floor.margin(pair.subject.workload, column, _parameters(pair)),
            LATENCY,
            "primary" if primary and pair.primary else "exploratory",
        )
        for pair in pairs
    ]

    def complete(verdicts: Iterator[RatioVerdict]) -> list[LatencyRatio]:
        found = [
            LatencyRatio(*pair[:4], proven(next(verdicts), pair.found, FELL_BEHIND))
            for pair in pairs
        ]
        return [each for each in found if each.ratio.n]

    return Pending(hypotheses, complete)


def _parameters(pair: _Pair) -> str:
    return json.dumps({**json.loads(pair.subject.parameters), RATE: pair.rate_per_s})


def _of_subject(runs: pd.DataFrame, column: str) -> Iterator[_Pair]:
    subject: Subject = runs["subject"].iloc[0]
    rates = sorted(runs["rate"].unique().tolist())
    on_cores = runs.loc[runs["region"] == "cores", "workers"]
    headline = int((on_cores if len(on_cores) else runs["workers"]).max())
    for rate in rates:
        at = _values(runs[runs["rate"] == rate], column)
        for of, over in _matches(at):
            primary = rate == middle(rates) and of.model == "threads" and of.workers == headline
            yield _Pair(subject, rate, of, over, _ratios(at[of], at[over]), primary)


def _values(runs: pd.DataFrame, column: str) -> dict[Configuration, _Values]:
    """Those that have the percentile, each with a place for every block."""
    blocks = np.unique(runs["block"].to_numpy())
    found: dict[Configuration, _Values] = {}
    for _, own in runs.groupby("configuration", sort=True):
        values = np.full(len(blocks), np.nan)
        bounds = np.zeros(len(blocks), np.bool_)
        least = np.full(len(blocks), np.nan)
        places = np.searchsorted(blocks, own["block"].to_numpy())
        values[places] = own[column].to_numpy(np.float64)
        bounds[places] = p99_is_bound(own)
        least[places] = shortest_s(own, column).to_numpy()
        if np.isfinite(values).any():
            found[own["configuration"].iloc[0]] = _Values(values, bounds, least)
    return found


def _matches(at: dict[Configuration, _Values]) -> Iterator[tuple[Configuration, Configuration]]:
    for version in version_arms(each.arm for each in at):
        for of in at:
            among = [
                each
                for each in at
                if each.workers == of.workers
                and each.arm in version.with_gil
                and each.model in PROCESSES
            ]
            if (of.arm, of.model) in version.challengers and among:
                yield of, min(among, key=lambda each: slowness(at[each].p99_s, at[each].is_bound))


def _ratios(of: _Values, over: _Values) -> Bounded:
    """Block by block."""
    both = of.is_bound & over.is_bound
    ratios = np.where(both, np.nan, of.p99_s / over.p99_s)
    known = np.isfinite(ratios)
    bounds = {1: of.is_bound, -1: over.is_bound}
    sides = {side for side, is_bound in bounds.items() if (is_bound & known).any()}
    return bounded(ratios, sides, of.least_s / over.p99_s, of.p99_s / over.least_s)
