"""Capacity at an SLO: the highest rate at which a configuration keeps an objective.

In each block it is where a monotone fit of the percentile over the rates crosses the objective,
with no error and no backlog below (`scaling.analysis.served.crossing`); over blocks the median is
taken, with its interval. Beyond the rates that were measured a block gives a bound, which counts as
the last rate: where half of the blocks or more do, the capacity itself is a bound and is printed
as one (`≥ 4,000/s`, `< 500/s`).

Where the load generator was late, latencies are upper bounds, and so capacity is a lower one: `up
to` is where the latencies from the send cross the objective, and a verdict on a ratio must hold
between the two.

Ratios are taken inside blocks. The primary hypothesis of a study with objectives is the capacity of
threads without the GIL over that of the strongest processes (the largest median capacity, among
fresh and forked ones on the arms with the GIL) at the headline N, for each objective; all other
ratios are exploratory. Capacity is nearly in inverse proportion to the CPU time of a request, so
its margin is that of CPU time.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from scaling.analysis.arrays import Floats
from scaling.analysis.comparison.paired import Configuration
from scaling.analysis.comparison.version_arms import version_arms
from scaling.analysis.curves.memory import MIB
from scaling.analysis.lookup.bounds import shortest_s
from scaling.analysis.served.bounds import Bounded, bounded, proven
from scaling.analysis.served.crossing import Crossing, crossing
from scaling.analysis.served.open_loop import Subject, open_loop_runs
from scaling.analysis.statistics.estimate import Estimate, median
from scaling.analysis.statistics.noise import NoiseFloor
from scaling.analysis.statistics.pending import Pending
from scaling.analysis.statistics.verdict import RATE, RatioVerdict, hypothesis
from scaling.analysis.table.groups import fell_behind, require_one_study
from scaling.base.formats import number
from scaling.base.vocabulary import PROCESSES
from scaling.study.objective import Objective

GIB_IN_MIB = 1024.0
UNIT = "requests/s"
BEYOND_GRID = "a capacity lies outside the rates that were measured"

type Bound = Literal["", "≥", "<"]
type Question = Literal["over processes", "gain"]


@dataclass(frozen=True, slots=True)
class Capacity:
    """The capacity of a configuration at an objective, in requests/s of all workers together.

    `blocks` are the blocks that have a value, `crossings` the values of these, `at_most` those by
    latencies from the send where the load generator was late. `bound` says that the estimate is
    one: it lies outside the rates. `per_core` is per worker, each of which can have a core;
    `per_gib` is per GiB of memory (PSS; RSS where that is not known) at the last rate that kept the
    objective.
    """

    subject: Subject
    configuration: Configuration
    objective: Objective
    region: str | None
    blocks: tuple[int, ...]
    crossings: tuple[Crossing, ...]
    at_most: tuple[Crossing, ...]
    estimate: Estimate
    bound: Bound
    per_core: Estimate
    per_gib: Estimate

    @property
    def text(self) -> str:
        """`1,820/s (1,790–1,850)`, `≥ 4,000/s`, `< 500/s`, `1,820/s, up to 2,050/s`."""
        rate = f"{number(self.estimate.point)}/s"
        if self.bound:
            rate = f"{self.bound} {rate}"
        elif self.estimate.bounds:
            rate = f"{rate} ({self.estimate.bounds})"
        return f"{rate}, up to {self.up_to}" if self.up_to else rate

    @property
    def most(self) -> Estimate:
        """That by latencies from the send; the estimate itself where no run was sent late."""
        return median(_rates(self.at_most), UNIT)

    @property
    def up_to(self) -> str:
        """What it may be if the lateness of the load generator is left out: `2,050/s`, `2,330/s or
        more`; empty where that is the estimate.
        """
        if self.bound == "≥" or self.at_most == self.crossings:
            return ""
        more = " or more" if _bound(self.at_most) == "≥" else ""
        return f"{number(self.most.point)}/s{more}"

    @property
    def outside(self) -> int:
        """In how many blocks it lay outside the rates."""
        return sum(each.side != "inside" for each in self.crossings)


@dataclass(frozen=True, slots=True)
class CapacityRatio:
    """One capacity over another at the same objective, paired inside blocks."""

    question: Question
    of: Capacity
    over: Capacity
    ratio: RatioVerdict


@dataclass(frozen=True, slots=True)
class Capacities:
    """All capacities of a study, by subject and objective, and their ratios with verdicts."""

    every: list[Capacity]
    ratios: list[CapacityRatio]

    def over(self, of: Capacity, question: Question) -> CapacityRatio | None:
        """The ratio of a capacity that answers a question; None where there is none."""
        found = (each for each in self.ratios if each.of is of and each.question == question)
        return next(found, None)


def capacities(
    frame: pd.DataFrame,
    objectives: Sequence[Objective],
    floor: NoiseFloor,
    *,
    primary: bool = True,
) -> Pending[Capacities]:
    """The capacities of one study's configurations; empty without rates of an open loop.

    `primary` is whether the study has named these objectives, and so its primary hypotheses.

    Raises:
        UsageError: the frame holds several studies.
    """
    require_one_study(frame)
    runs = open_loop_runs(frame)
    subjects = runs.groupby("subject", sort=False) if len(runs) else ()
    every = [
        found
        for (_, of_subject), objective in (
            (group, objective) for group in subjects for objective in objectives
        )
        for found in _of_subject(of_subject, objective)
    ]
    return _judged(every, floor, primary=primary)


def _of_subject(runs: pd.DataFrame, objective: Objective) -> Iterator[Capacity]:
    for _, own in runs.groupby("configuration", sort=True):
        found = _capacity(own, objective)
        if found is not None:
            yield found


def _capacity(runs: pd.DataFrame, objective: Objective) -> Capacity | None:
    """Of one configuration; None where no run has the percentile."""
    column = f"latency_{objective.percentile}_s"
    known = runs[runs[column] > 0].sort_values("rate")
    blocks, crossings, at_most, memory = [], [], [], []
    for block, at in known.groupby("block", sort=True):
        unanswered = at[["load_errors", "load_declined"]].sum(axis=1).to_numpy() > 0
        sound = ~unanswered & ~fell_behind(at)
        rates = at["rate"].to_numpy(np.float64)
        latencies_s = at[column].to_numpy(np.float64)
        found = crossing(rates, latencies_s, sound, objective.limit_s)
        least_s = np.minimum(latencies_s, shortest_s(at, column).to_numpy())
        blocks.append(int(str(block)))
        crossings.append(found)
        at_most.append(crossing(rates, least_s, sound, objective.limit_s))
        memory.append(_memory_mib(at, found.rate_per_s))
    if not blocks:
        return None
    first = runs.iloc[0]
    configuration: Configuration = first["configuration"]
    values = _rates(crossings)
    estimate = median(values, UNIT)
    per_gib = values / (np.array(memory) / GIB_IN_MIB)
    return Capacity(
        subject=first["subject"],
        configuration=configuration,
        objective=objective,
        region=first["region"] if isinstance(first["region"], str) else None,
        blocks=tuple(blocks),
        crossings=tuple(crossings),
        at_most=tuple(at_most),
        estimate=estimate,
        bound=_bound(crossings),
        per_core=estimate.scaled(1 / configuration.workers, f"{UNIT} per core"),
        per_gib=median(per_gib, f"{UNIT} per GiB"),
    )


def _memory_mib(runs: pd.DataFrame, rate_per_s: float) -> float:
    """At the last rate up to this one, or the first."""
    within = runs[runs["rate"] <= rate_per_s]
    run = within.iloc[-1] if len(within) else runs.iloc[0]
    pss, rss = float(run["pss_bytes"]), float(run["rss_bytes"])
    return (rss if math.isnan(pss) else pss) / MIB


def _rates(crossings: Iterable[Crossing]) -> Floats:
    return np.array([each.rate_per_s for each in crossings], np.float64)


def _bound(crossings: Sequence[Crossing]) -> Bound:
    """Of the median: it is a bound where half of the values are."""
    sides = [each.side for each in crossings]
    if 2 * sides.count("above") >= len(sides):
        return "≥"
    return "<" if 2 * sides.count("below") >= len(sides) else ""


class _Pair(NamedTuple):
    question: Question
    of: Capacity
    over: Capacity
    primary: bool


def _judged(every: list[Capacity], floor: NoiseFloor, *, primary: bool) -> Pending[Capacities]:
    alike = groupby(every, key=lambda each: (each.subject, each.objective))
    pairs = [pair for _, group in alike for pair in _pairs(list(group))]
    ratios = [_ratios(pair.of, pair.over) for pair in pairs]
    hypotheses = [
        hypothesis(
            found.ratios,
            floor.margin(pair.of.subject.workload, "cpu_s_per_op"),
            RATE,
            "primary" if primary and pair.primary else "exploratory",
        )
        for pair, found in zip(pairs, ratios, strict=True)
    ]

    def complete(verdicts: Iterator[RatioVerdict]) -> Capacities:
        found = [
            CapacityRatio(*pair[:3], proven(next(verdicts), each, BEYOND_GRID))
            for pair, each in zip(pairs, ratios, strict=True)
        ]
        return Capacities(every, found)

    return Pending(hypotheses, complete)


def _pairs(every: Sequence[Capacity]) -> Iterator[_Pair]:
    """Of one subject and objective."""
    at = {each.configuration: each for each in every}
    headline = headline_n(every)
    for version in version_arms(each.configuration.arm for each in every):
        for each in every:
            arm, model, n, _ = each.configuration
            is_ours = (arm, model) in version.challengers
            if is_ours and (theirs := strongest(every, version.with_gil, n)):
                primary = model == "threads" and n == headline
                yield _Pair("over processes", each, theirs, primary)
    for each in every:
        arm, model, *_ = each.configuration
        one = at.get(Configuration(arm, model, 1))
        if one is not None and one is not each:
            yield _Pair("gain", each, one, primary=False)


def headline_n(every: Iterable[Capacity]) -> int:
    """The largest N with a core for each worker, else the largest."""
    capacities = list(every)
    on_cores = [each.configuration.workers for each in capacities if each.region == "cores"]
    return max(on_cores or [each.configuration.workers for each in capacities])


def strongest(every: Iterable[Capacity], arms: Iterable[str], workers: int) -> Capacity | None:
    """The processes on these arms with the largest median capacity; None where there are none.

    A capacity of `≥ 4,000/s` is stronger than one of 4,000/s.
    """
    among = list(arms)
    processes = [
        each
        for each in every
        if each.configuration.arm in among
        and each.configuration.model in PROCESSES
        and each.configuration.workers == workers
    ]
    order = {"<": -1, "": 0, "≥": 1}
    return max(processes, key=lambda each: (each.estimate.point, order[each.bound]), default=None)


def _ratios(of: Capacity, over: Capacity) -> Bounded:
    """Block by block. Where both lie outside to the same side, or on two sides of one rate, the
    ratio is not known.
    """
    beyond = {"below": -1, "inside": 0, "above": 1}
    theirs = dict(zip(over.blocks, zip(over.crossings, over.at_most, strict=True), strict=True))
    found, sides = [], set[int]()
    for block, *our in zip(of.blocks, of.crossings, of.at_most, strict=True):
        if block not in theirs:
            continue
        (ours, our_most), (other, their_most) = our, theirs[block]
        side, under = beyond[ours.side], beyond[other.side]
        if side and under and (side == under or ours.rate_per_s == other.rate_per_s):
            continue
        found.append((*_between(ours, our_most), *_between(other, their_most)))
        sides |= {each for each in (side, -under) if each}
    low, rate, high, other_low, other_rate, other_high = np.array(found).reshape(-1, 6).T
    with np.errstate(divide="ignore"):
        return bounded(rate / other_rate, sides, low / other_high, high / other_low)


def _between(found: Crossing, at_most: Crossing) -> tuple[float, float, float]:
    """The least rate, the one that was found, and the most that it can be."""
    least = 0.0 if found.side == "below" else found.rate_per_s
    return least, found.rate_per_s, math.inf if at_most.side == "above" else at_most.rate_per_s
