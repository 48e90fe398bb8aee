"""Threads and interpreters compared with processes at the same N: which to ship?

The baseline is the best that people can have today: N processes on the faster of `3.14` and
`3.14+mimalloc`, by median throughput at that N. If both are equally fast, noise decides which one
is chosen, so the comparison errs in favour of processes, by less than the noise of a run.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from scaling.analysis.comparison.paired import Configuration, Measure, Paired
from scaling.analysis.comparison.version_arms import VersionArms, version_arms
from scaling.analysis.statistics.pending import Pending
from scaling.analysis.statistics.verdict import COST, RATE, Hypothesis, RatioVerdict, hypothesis


@dataclass(frozen=True, slots=True)
class BaselineRatio:
    """`ours` over `theirs`: each figure is ours divided by theirs, paired inside blocks.

    `theirs` was the fastest of `among`. Memory is PSS over PSS, or RSS over RSS where either has no
    PSS; `memory_kind` says which. The throughput of threads at the headline N is a primary
    hypothesis of the study; all other ratios are exploratory.
    """

    ours: Configuration
    theirs: Configuration
    among: list[Configuration]
    throughput: RatioVerdict
    cpu_s_per_op: RatioVerdict
    memory: RatioVerdict
    memory_kind: Measure

    @property
    def workers(self) -> int:
        """N, the same for both."""
        return self.ours.workers


class _Match(NamedTuple):
    """A ratio before its verdicts are known."""

    ours: Configuration
    theirs: Configuration
    among: list[Configuration]
    memory_kind: Measure


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
                memory=next(verdicts),
                memory_kind=each.memory_kind,
            )
            for each in matches
        ]
        return [each for each in found if each.throughput.n]

    return Pending([each for match in matches for each in _hypotheses(runs, match)], complete)


def _hypotheses(runs: Paired, match: _Match) -> Iterator[Hypothesis]:
    """Throughput, CPU time, memory."""
    measures: tuple[Measure, ...] = ("throughput", "cpu_s_per_op", match.memory_kind)
    for measure in measures:
        is_rate = measure == "throughput"
        is_primary = (
            is_rate and match.ours.model == "threads" and match.ours.workers == runs.headline_n
        )
        yield hypothesis(
            runs.ratios(match.ours, match.theirs, measure),
            runs.margin(measure),
            RATE if is_rate else COST,
            "primary" if is_primary else "exploratory",
        )


def _matches(runs: Paired) -> Iterator[_Match]:
    for version in version_arms(runs.arms):
        ours = [(version.free, "threads")]
        ours += [(arm, "interpreters") for arm in version.rungs]
        for arm, model in ours:
            for n in runs.workers:
                configuration = Configuration(arm, model, n)
                among = _processes(runs, version, configuration)
                theirs = runs.fastest(among)
                if theirs is not None and runs.measured([configuration]):
                    yield _Match(
                        configuration, theirs, among, runs.memory_kind(configuration, theirs)
                    )


def ceiling(runs: Paired) -> list[Configuration]:
    """At each N the fastest processes of an arm with the GIL, of any version; else of any arm."""
    found = []
    with_gil = [arm for version in version_arms(runs.arms) for arm in version.with_gil]
    for n in runs.workers:
        usual = runs.fastest(Configuration(arm, "processes", n) for arm in with_gil)
        configuration = usual or runs.fastest(
            Configuration(arm, "processes", n) for arm in runs.arms
        )
        found += [configuration] if configuration else []
    return found


def _processes(runs: Paired, version: VersionArms, ours: Configuration) -> list[Configuration]:
    """The processes of which the fastest is the baseline of a configuration."""
    usual = runs.measured(Configuration(arm, "processes", ours.workers) for arm in version.with_gil)
    return usual or runs.measured([Configuration(ours.arm, "processes", ours.workers)])
