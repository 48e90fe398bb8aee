"""What more workers gain: N workers over one of the same arm and model, block by block."""

from collections.abc import Iterator
from dataclasses import dataclass

from scaling.analysis.comparison.paired import Configuration, Paired
from scaling.analysis.comparison.version_arms import free_arms
from scaling.analysis.curves.curve import Curve
from scaling.analysis.statistics.pending import Pending
from scaling.analysis.statistics.verdict import RatioVerdict, hypothesis
from scaling.analysis.table.groups import Key
from scaling.base.vocabulary import PROCESSES
from scaling.builds.runtimes.known import RUNTIMES


@dataclass(frozen=True, slots=True)
class Gain:
    """`throughput` of N workers over that of one; `of` and `over` are the two configurations.

    `is_headline`: it is the headline gain of a curve that the study is about. These are primary
    hypotheses of the study unless it names other ones; all other gains are exploratory.
    """

    key: Key
    of: Configuration
    over: Configuration
    is_headline: bool
    throughput: RatioVerdict

    @property
    def workers(self) -> int:
        """N."""
        return self.of.workers


def gains(runs: Paired) -> Pending[list[Gain]]:
    """One for every curve with a run at N = 1, and every N above it."""
    margin = runs.margin("throughput")
    headlines = {(curve.key, curve.headline_n) for curve in _subjects(runs)}
    found = []
    for curve in runs.curves:
        one, *others = (Configuration(curve.key.arm, curve.key.model, n) for n in curve.workers)
        found += [
            (curve.key, each, one, (curve.key, each.workers) in headlines)
            for each in others
            if one.workers == 1
        ]
    hypotheses = [
        hypothesis(
            runs.ratios(of, over, "throughput"),
            margin,
            family=runs.family("gain", is_headline=is_headline),
        )
        for _, of, over, is_headline in found
    ]

    def complete(verdicts: Iterator[RatioVerdict]) -> list[Gain]:
        every = [Gain(*each, next(verdicts)) for each in found]
        return [each for each in every if each.throughput.n]

    return Pending(hypotheses, complete)


def _subjects(runs: Paired) -> list[Curve]:
    """The curves that a study is about: threads without the GIL, or all where there are none.

    Processes of another runtime show what the machine gives: a study is not about these.
    """
    free = free_arms(runs.arms)
    return [
        curve for curve in runs.curves if curve.key.arm in free and curve.key.model == "threads"
    ] or [
        curve
        for curve in runs.curves
        if curve.key.arm not in RUNTIMES or curve.key.model not in PROCESSES
    ]
