"""Threads over processes at the same N, and interpreters over processes: which to ship?

What they are held against is the best that people can have today: N processes on the better of
`3.14` and `3.14+mimalloc`, by median throughput at that N. Of two that are equal the better one is
the luckier one, so the comparison errs in favour of processes, by less than the noise of a run.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from scaling.analysis.comparison.families import Family, families
from scaling.analysis.comparison.paired import Configuration, Measure, Paired
from scaling.analysis.statistics.verdict import COST, RATE, Hypothesis, RatioVerdict, ask, judged


@dataclass(frozen=True, slots=True)
class BaselineRatio:
    """`ours` over `theirs`: each figure is ours divided by theirs, paired inside blocks.

    `among` are the ways of which `theirs` was the fastest. Memory is PSS over PSS, or RSS over RSS
    where either has no PSS; `memory_kind` says which. The verdicts of all rivalries of a section
    and loop, which stand in one table, are one family.
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
    """A rivalry before its family is known."""

    ours: Configuration
    theirs: Configuration
    among: list[Configuration]
    memory_kind: Measure


def baseline_ratios(runs: Paired) -> list[BaselineRatio]:
    """Threads of every version's free arm, and interpreters of any arm, over processes at each N.

    Where no arm with the GIL ran as processes, an arm is held against its own.
    """
    matches = list(_matches(runs))
    answers = iter(judged([question for each in matches for question in _questions(runs, each)]))
    found = [
        BaselineRatio(
            each.ours,
            each.theirs,
            each.among,
            throughput=next(answers),
            cpu_s_per_op=next(answers),
            memory=next(answers),
            memory_kind=each.memory_kind,
        )
        for each in matches
    ]
    return [each for each in found if each.throughput.n]


def _questions(runs: Paired, match: _Match) -> Iterator[Hypothesis]:
    """What is asked of a pair of ways: work, CPU time, memory."""
    asked: tuple[Measure, ...] = ("throughput", "cpu_s_per_op", match.memory_kind)
    for measure in asked:
        direction = RATE if measure == "throughput" else COST
        yield ask(runs.ratios(match.ours, match.theirs, measure), runs.margin(measure), direction)


def _matches(runs: Paired) -> Iterator[_Match]:
    for family in families(runs.arms):
        ours = [(family.free, "threads")]
        ours += [(arm, "interpreters") for arm in family.rungs]
        for arm, model in ours:
            for n in runs.workers:
                configuration = Configuration(arm, model, n)
                among = _processes(runs, family, configuration)
                theirs = runs.fastest(among)
                if theirs is not None and runs.measured([configuration]):
                    yield _Match(
                        configuration, theirs, among, runs.memory_kind(configuration, theirs)
                    )


def ceiling(runs: Paired) -> list[Configuration]:
    """At each N the fastest processes of an arm with the GIL, of any version; else of any arm."""
    found = []
    with_gil = [arm for family in families(runs.arms) for arm in family.with_gil]
    for n in runs.workers:
        usual = runs.fastest(Configuration(arm, "processes", n) for arm in with_gil)
        configuration = usual or runs.fastest(
            Configuration(arm, "processes", n) for arm in runs.arms
        )
        found += [configuration] if configuration else []
    return found


def _processes(runs: Paired, family: Family, ours: Configuration) -> list[Configuration]:
    """The processes that a way is held against."""
    usual = runs.measured(Configuration(arm, "processes", ours.workers) for arm in family.with_gil)
    return usual or runs.measured([Configuration(ours.arm, "processes", ours.workers)])
