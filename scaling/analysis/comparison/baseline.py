"""Threads and interpreters compared with processes at the same N: which to ship?

The baseline is the best that people can have today: N processes, fresh or forked, on the faster of
`3.14` and `3.14+mimalloc`, by median throughput at that N. If several are equally fast, noise
decides which one is chosen, so the comparison errs in favour of processes, by less than the noise
of a run.

Memory is compared with fresh processes and with forked ones: servers that load an application
before they fork share its pages, and fresh processes have a copy each.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from scaling.analysis.comparison.paired import Configuration, Measure, Paired
from scaling.analysis.comparison.version_arms import VersionArms, version_arms
from scaling.analysis.statistics.pending import Pending
from scaling.analysis.statistics.verdict import COST, RATE, Hypothesis, RatioVerdict, hypothesis
from scaling.base.vocabulary import PROCESSES
from scaling.builds.runtimes.known import RUNTIMES


class MemoryBaseline(NamedTuple):
    """What memory is compared with: the fastest processes of one model, and which reading counts.

    The `kind` is PSS, or RSS where either side has no PSS.
    """

    theirs: Configuration
    kind: Measure


class MemoryRatio(NamedTuple):
    """Memory over that of processes of one model."""

    over: MemoryBaseline
    ratio: RatioVerdict


@dataclass(frozen=True, slots=True)
class BaselineRatio:
    """`ours` over `theirs`: each figure is ours divided by theirs, paired inside blocks.

    `theirs` was the fastest of `among`. `memory` has a ratio for each model among those, fresh
    processes first. The throughput of threads at the headline N is a primary hypothesis of the
    study; all other ratios are exploratory.
    """

    ours: Configuration
    theirs: Configuration
    among: list[Configuration]
    throughput: RatioVerdict
    cpu_s_per_op: RatioVerdict
    memory: list[MemoryRatio]

    @property
    def workers(self) -> int:
        """N, the same for both."""
        return self.ours.workers


class _Match(NamedTuple):
    """A ratio before its verdicts are known."""

    ours: Configuration
    theirs: Configuration
    among: list[Configuration]
    memory: list[MemoryBaseline]


def baseline_ratios(runs: Paired) -> Pending[list[BaselineRatio]]:
    """Threads of every version's free arm, and interpreters of any arm, over processes at each N.

    Where no arm with the GIL ran as processes, an arm is compared with its own processes.
    """
    matches = list(_matches(runs))

    def complete(verdicts: Iterator[RatioVerdict]) -> list[BaselineRatio]:
        found = [
            BaselineRatio(
                each.ours,
                each.theirs,
                each.among,
                throughput=next(verdicts),
                cpu_s_per_op=next(verdicts),
                memory=[MemoryRatio(over, next(verdicts)) for over in each.memory],
            )
            for each in matches
        ]
        return [each for each in found if each.throughput.n]

    return Pending([each for match in matches for each in _hypotheses(runs, match)], complete)


def _hypotheses(runs: Paired, match: _Match) -> Iterator[Hypothesis]:
    """Throughput, CPU time, memory over each model of processes."""
    comparisons: list[tuple[Configuration, Measure]] = [
        (match.theirs, "throughput"),
        (match.theirs, "cpu_s_per_op"),
        *match.memory,
    ]
    for theirs, measure in comparisons:
        is_rate = measure == "throughput"
        is_headline = (
            is_rate and match.ours.model == "threads" and match.ours.workers == runs.headline_n
        )
        yield hypothesis(
            runs.ratios(match.ours, theirs, measure),
            runs.margin(measure),
            RATE if is_rate else COST,
            runs.family("over processes", is_headline=is_headline),
        )


def _matches(runs: Paired) -> Iterator[_Match]:
    for version in version_arms(runs.arms):
        for arm, model in version.challengers:
            for n in runs.workers:
                configuration = Configuration(arm, model, n)
                among = rivals(runs, version, configuration)
                theirs = runs.fastest(among)
                if theirs is not None and runs.measured([configuration]):
                    memory = list(_memory_baselines(runs, configuration, among))
                    yield _Match(configuration, theirs, among, memory)


def _memory_baselines(
    runs: Paired, ours: Configuration, among: list[Configuration]
) -> Iterator[MemoryBaseline]:
    for model in PROCESSES:
        theirs = runs.fastest(each for each in among if each.model == model)
        if theirs is not None:
            yield MemoryBaseline(theirs, runs.memory_kind(ours, theirs))


def ceiling(runs: Paired) -> list[Configuration]:
    """At each N the fastest processes of an arm with the GIL, of any version; else of any Python.

    Another runtime is no ceiling: nobody can ship their code on it.
    """
    found = []
    python = [arm for arm in runs.arms if arm not in RUNTIMES]
    with_gil = [arm for version in version_arms(runs.arms) for arm in version.with_gil]
    for n in runs.workers:
        usual = runs.fastest(_processes(with_gil, n))
        configuration = usual or runs.fastest(_processes(python, n))
        found += [configuration] if configuration else []
    return found


def rivals(runs: Paired, version: VersionArms, ours: Configuration) -> list[Configuration]:
    """The processes of which the fastest is the baseline of a configuration."""
    usual = runs.measured(_processes(version.with_gil, ours.workers))
    return usual or runs.measured(_processes([ours.arm], ours.workers))


def _processes(arms: Iterable[str], n: int) -> list[Configuration]:
    """N processes, fresh and forked, on each arm."""
    return [Configuration(arm, model, n) for arm in arms for model in PROCESSES]
