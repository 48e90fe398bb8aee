"""What each remedy brings: every arm with one over the arm without, paired inside blocks.

The throughput of a closed loop, or of work without one, at the headline N is the primary question,
one hypothesis for each remedy: Holm's correction is over all of them, controls included. All other
ratios are exploratory.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Literal, NamedTuple

from scaling.analysis.comparison.paired import Configuration, Measure, Paired
from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.families import Family
from scaling.analysis.statistics.verdict import (
    COST,
    LATENCY,
    RATE,
    Direction,
    Hypothesis,
    RatioVerdict,
    hypothesis,
    judge,
)
from scaling.analysis.table.labels import Variant, short_labels
from scaling.builds.settings import REMEDIES, SETTINGS
from scaling.study.load import RATE as RATE_PARAMETER
from scaling.study.remedies import LeftOut

type Figure = Literal["throughput", "cpu_s_per_op", "latency_p99_s", "memory"]


@dataclass(frozen=True, slots=True)
class Factor:
    """One figure of `of`, which has a remedy or several, over that of `over`, which has none.

    `measure` says which reading a ratio of memory is of.
    """

    subject: str
    figure: Figure
    measure: Measure
    of: Configuration
    over: Configuration
    ratio: RatioVerdict

    @property
    def added(self) -> tuple[str, ...]:
        """The settings that are compared: what the one arm has and the other has not."""
        without = self.over.arm.split("+")
        return tuple(each for each in self.of.arm.split("+") if each not in without)

    @property
    def is_control(self) -> bool:
        """Whether all that was added is a control, which must not help."""
        return all(name in SETTINGS and SETTINGS[name].control for name in self.added)


class _Asked(NamedTuple):
    subject: str
    figure: Figure
    measure: Measure
    of: Configuration
    over: Configuration
    tested: Hypothesis


@dataclass(frozen=True, slots=True)
class Remedies:
    """The factors of a study of remedies, and the largest N with a core for each worker.

    `unmeasured` has the arms without any, and what is wrong with their runs.
    """

    factors: list[Factor]
    headline_n: int
    unmeasured: dict[str, str] = field(default_factory=dict)

    def throughput(self, model: str | None = None) -> list[Factor]:
        """The factors on throughput at the headline N, the best first."""
        found = [
            each
            for each in self.factors
            if each.figure == "throughput"
            and each.of.workers == self.headline_n
            and model in (None, each.of.model)
        ]
        return sorted(found, key=lambda each: -each.ratio.point)

    def winners(self, base: str) -> list[str]:
        """The remedies that are proven to be faster than that arm at the headline N, best first."""
        proven = [
            each
            for each in self.throughput()
            if each.over.arm == base and each.ratio.verdict.side > 0 and not each.is_control
        ]
        return list(dict.fromkeys("+".join(each.added) for each in proven))

    @property
    def suspicious(self) -> list[Factor]:
        """The controls that seem to help, at any N: the figures of this study are in doubt."""
        return [
            each
            for each in self.factors
            if each.is_control and each.figure == "throughput" and each.ratio.verdict.side > 0
        ]


@dataclass(frozen=True, kw_only=True)
class Found:
    """What was measured: `together` is None where fewer than two remedies helped.

    `best` are the settings to use: the best remedies together or the best one alone, whichever was
    faster in the same blocks; none if no remedy is proven to help.
    """

    alone: Remedies
    together: Remedies | None
    best: tuple[str, ...]
    left_out: list[LeftOut]


def bases_of(results: StudyResults) -> list[str]:
    """The arms of a study that have no remedy."""
    return [arm for arm in results.study.arms if not set(arm.split("+")) & REMEDIES.keys()]


def remedies_in(results: StudyResults, bases: Sequence[str]) -> Remedies:
    """The factors in a study whose arms are `bases` and some of these with settings added."""
    closed = [runs for runs in results.paired if runs.section.rate_per_s is None]
    subjects = _subjects(results)
    asked = [
        each
        for runs, subject in zip(results.paired, subjects, strict=True)
        for each in _of_section(runs, bases, subject)
    ]
    verdicts = judge([each.tested for each in asked])
    factors = [
        Factor(*each[:5], ratio) for each, ratio in zip(asked, verdicts, strict=True) if ratio.n
    ]
    headline_n = max((runs.headline_n for runs in closed), default=1)
    return Remedies(factors, headline_n, _unmeasured(results, factors))


def _unmeasured(results: StudyResults, factors: Sequence[Factor]) -> dict[str, str]:
    """The arms of the study that are in no factor; of their runs the first fault."""
    known = {arm for each in factors for arm in (each.of.arm, each.over.arm)}
    found = {}
    for arm in results.study.arms:
        runs = results.frame[(results.frame["arm"] == arm) & ~results.frame["valid"]]
        if arm not in known and len(runs):
            found[arm] = "; ".join(runs["details"].iloc[0])
    return found


def _of_section(runs: Paired, bases: Sequence[str], subject: str) -> Iterator[_Asked]:
    for arm, model, n in product(runs.arms, runs.models, runs.workers):
        base = _base_of(arm, bases)
        if base is None:
            continue
        of, over = Configuration(arm, model, n), Configuration(base, model, n)
        if len(runs.measured([of, over])) < 2:
            continue
        for figure, measure, direction in _figures(runs, of, over):
            is_primary = figure == "throughput" and n == runs.headline_n
            family: Family = "primary" if is_primary else "exploratory"
            ratios = runs.ratios(of, over, measure)
            tested = hypothesis(ratios, runs.margin(measure), direction, family)
            yield _Asked(subject, figure, measure, of, over, tested)


def _figures(
    runs: Paired, of: Configuration, over: Configuration
) -> Iterator[tuple[Figure, Measure, Direction]]:
    """Of an open loop only latency: throughput is the schedule's."""
    if runs.section.rate_per_s is not None:
        yield "latency_p99_s", "latency_p99_s", LATENCY
        return
    yield "throughput", "throughput", RATE
    yield "cpu_s_per_op", "cpu_s_per_op", COST
    yield "memory", runs.memory_kind(of, over), COST


def _base_of(arm: str, bases: Sequence[str]) -> str | None:
    """The base that an arm adds settings to; of several the one that it adds the fewest to."""
    build, *settings = arm.split("+")
    under = [
        base
        for base in bases
        if base != arm and base.split("+")[0] == build and set(base.split("+")[1:]) <= set(settings)
    ]
    return max(under, key=lambda base: base.count("+"), default=None) if arm not in bases else None


def _subjects(results: StudyResults) -> list[str]:
    """What each section is about, but for its rate: P99 stands beside the closed loop's figures."""
    variants = [_without_rate(runs) for runs in results.paired]
    names = short_labels(variants, simulated=results.study.simulated)
    return [
        f"{names[variant]} · {runs.section.sizing} sizing · {runs.loop}"
        for runs, variant in zip(results.paired, variants, strict=True)
    ]


def _without_rate(runs: Paired) -> Variant:
    key = runs.curves[0].key
    parameters = json.loads(key.parameters)
    parameters.pop(RATE_PARAMETER, None)
    return key.workload, json.dumps(parameters)
