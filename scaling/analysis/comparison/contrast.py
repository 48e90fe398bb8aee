"""One configuration over another: what it does, and the CPU time that this takes."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product

from scaling.analysis.comparison.paired import Configuration, Measure, Paired
from scaling.analysis.comparison.version_arms import RUNGS, rising, version_arms
from scaling.analysis.statistics.pending import Pending
from scaling.analysis.statistics.verdict import COST, RATE, Direction, RatioVerdict, hypothesis

MEASURES: tuple[tuple[Measure, Direction], ...] = (("throughput", RATE), ("cpu_s_per_op", COST))

type Pairs = Iterable[tuple[Configuration, Configuration]]


@dataclass(frozen=True, slots=True)
class Contrast:
    """The ratios of `of` over `over`, paired inside blocks."""

    of: Configuration
    over: Configuration
    throughput: RatioVerdict
    cpu_s_per_op: RatioVerdict


def contrasts(runs: Paired, question: str, pairs: Pairs) -> Pending[list[Contrast]]:
    """Each pair of which both sides were measured: the answers to that question.

    Where it is a primary one, the throughput at the headline N is.
    """
    measured = [pair for pair in pairs if len(runs.measured(pair)) == len(pair)]
    hypotheses = [
        hypothesis(
            runs.ratios(*pair, measure),
            runs.margin(measure),
            direction,
            runs.family(
                question,
                is_headline=direction == RATE and pair[0].workers == runs.headline_n,
            ),
        )
        for pair in measured
        for measure, direction in MEASURES
    ]

    def complete(verdicts: Iterator[RatioVerdict]) -> list[Contrast]:
        found = [Contrast(*pair, next(verdicts), next(verdicts)) for pair in measured]
        return [each for each in found if each.throughput.n]

    return Pending(hypotheses, complete)


def settings(runs: Paired) -> Pending[list[Contrast]]:
    """What a setting beside the ladder changes: each arm with it over the same arm without.

        3.14t+nogc over 3.14t;  3.13+io-uring over 3.13

    Both have the same model and N. Of an arm with several, the last one of its name is left out.
    """
    return contrasts(runs, "setting", setting_pairs(runs))


def setting_pairs(runs: Paired) -> Iterator[tuple[Configuration, Configuration]]:
    """Each configuration with a setting beside the ladder, and the same without it."""
    rungs = {rung for version in version_arms(runs.arms) for rung in version.rungs}
    arms = [arm for arm in runs.arms if "+" in arm and arm not in rungs]
    for arm, model, n in product(arms, runs.models, runs.workers):
        yield Configuration(arm, model, n), Configuration(arm.rpartition("+")[0], model, n)


def versions(runs: Paired) -> Pending[list[Contrast]]:
    """What the versions of Python changed: each arm over that of the oldest version that has it.

        3.13 over 3.12, 3.14 over 3.12;  3.14t over 3.13t

    Both have the same model and N. What else two builds differ in (another compiler, PGO) is in
    the ratio, too, and must be shown beside it (`scaling.analysis.comparison.build_differences`).
    """
    return contrasts(runs, "version", _version_pairs(runs))


def _version_pairs(runs: Paired) -> Iterator[tuple[Configuration, Configuration]]:
    names = rising(each.version for each in version_arms(runs.arms))
    for (added, _), model, n in product(RUNGS, runs.models, runs.workers):
        measured = runs.measured(Configuration(version + added, model, n) for version in names)
        for configuration in measured[1:]:
            yield configuration, measured[0]
