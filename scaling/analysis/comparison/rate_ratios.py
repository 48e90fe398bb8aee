"""Configurations at the same rate of an open loop: CPU time per request, memory, latency.

Throughput is the schedule's there, so it is not compared; N workers at a rate do not do more than
one at the same rate, but do it sooner, so gains, ladders and break-even points have no meaning.
Compared at each rate and N are threads of every version's free arm, and interpreters, with the
processes whose median P99 is the lowest (fresh or forked, on the arms with the GIL; else the same
arm's own); each arm with the arm before it on the ladder; and each setting beside the ladder with
the arm without it.

All of these are exploratory. P99 of threads over processes is not among them: it is the primary
hypothesis of such a study (`scaling.analysis.served.latency_ratios`), or capacity is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Literal

import numpy as np

from scaling.analysis.arrays import Flags, Floats
from scaling.analysis.comparison.baseline import rivals
from scaling.analysis.comparison.contrast import setting_pairs
from scaling.analysis.comparison.paired import Configuration, Measure, Paired
from scaling.analysis.comparison.version_arms import version_arms
from scaling.analysis.statistics.pending import Pending
from scaling.analysis.statistics.verdict import (
    COST,
    LATENCY,
    Direction,
    Hypothesis,
    RatioVerdict,
    hypothesis,
)

type Question = Literal["over processes", "step", "setting"]
OVER_PROCESSES: Literal["over processes"] = "over processes"

type Asked = tuple[Question, Configuration, Configuration]


@dataclass(frozen=True, slots=True)
class RateRatio:
    """`of` over `over` at one rate: each figure divided by the other's, paired inside blocks.

    `latency_p99_s` is None where another analysis has it, and has no value where runs have too few
    requests for it. Memory is PSS over PSS, or RSS over RSS where either has no PSS; `memory_kind`
    says which.
    """

    question: Question
    of: Configuration
    over: Configuration
    cpu_s_per_op: RatioVerdict
    memory: RatioVerdict
    memory_kind: Measure
    latency_p99_s: RatioVerdict | None


def rate_ratios(runs: Paired) -> Pending[list[RateRatio]]:
    """The ratios of a section in an open loop."""
    asked = [each for each in _asked(runs) if len(runs.measured(each[1:])) == len(each[1:])]

    def complete(verdicts: Iterator[RatioVerdict]) -> list[RateRatio]:
        return [
            RateRatio(
                *each,
                cpu_s_per_op=next(verdicts),
                memory=next(verdicts),
                memory_kind=runs.memory_kind(*each[1:]),
                latency_p99_s=next(verdicts) if each[0] != OVER_PROCESSES else None,
            )
            for each in asked
        ]

    return Pending([tested for each in asked for tested in _hypotheses(runs, *each)], complete)


def _hypotheses(
    runs: Paired, question: Question, of: Configuration, over: Configuration
) -> Iterator[Hypothesis]:
    measures: list[tuple[Measure, Direction]] = [
        ("cpu_s_per_op", COST),
        (runs.memory_kind(of, over), COST),
    ]
    if question != OVER_PROCESSES:
        measures.append(("latency_p99_s", LATENCY))
    for measure, direction in measures:
        ratios = runs.ratios(of, over, measure)
        yield hypothesis(ratios, runs.margin(measure), direction, "exploratory")


def _asked(runs: Paired) -> Iterator[Asked]:
    for version in version_arms(runs.arms):
        for (arm, model), n in product(version.challengers, runs.workers):
            of = Configuration(arm, model, n)
            over = _soonest(runs, rivals(runs, version, of))
            if over is not None:
                yield OVER_PROCESSES, of, over
        for model, n in product(runs.models, runs.workers):
            rungs = runs.measured(Configuration(arm, model, n) for arm in version.rungs)
            for before, after in pairwise(rungs):
                yield "step", after, before
    for of, over in setting_pairs(runs):
        yield "setting", of, over


def slowness(latency_s: Floats, is_bound: Flags) -> tuple[float, float]:
    """By which the strongest processes at a rate are chosen: they have the lowest.

    How often the P99 is a lower bound, then the median latency; both arrays have a place for every
    block.
    """
    return float(is_bound.mean()), float(np.nanmedian(latency_s))


def _soonest(runs: Paired, among: Sequence[Configuration]) -> Configuration | None:
    """The strongest by P99, or by CPU time where P99 is not known."""

    def p99_slowness(each: Configuration) -> tuple[float, float]:
        p99_s = runs.of(each, "p99_or_bound_s")
        return slowness(p99_s, np.isfinite(p99_s) & np.isnan(runs.of(each, "latency_p99_s")))

    known = [each for each in among if np.isfinite(runs.of(each, "p99_or_bound_s")).any()]
    if known:
        return min(known, key=p99_slowness)
    known = [each for each in among if np.isfinite(runs.of(each, "cpu_s_per_op")).any()]
    costs = {each: float(np.nanmedian(runs.of(each, "cpu_s_per_op"))) for each in known}
    return min(known, key=costs.__getitem__, default=None)
