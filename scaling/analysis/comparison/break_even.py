"""Break-even: the smallest N at which free-threaded threads beat the best single GIL process.

They do where the verdict is `faster`. That process is the fastest, by median, of what one worker on
`3.14` or `3.14+mimalloc` did, as a thread or as a process of its own: the choice that a person has
who runs one loop today.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from scaling.analysis.comparison.paired import Configuration, Paired
from scaling.analysis.comparison.version_arms import VersionArms, version_arms
from scaling.analysis.statistics.pending import Pending
from scaling.analysis.statistics.verdict import RatioVerdict, hypothesis
from scaling.base.vocabulary import PROCESSES

type Outcome = Literal["reached", "never", "inconclusive"]


@dataclass(frozen=True, slots=True)
class BreakEven:
    """Threads of `arm` at each N over the `single` process at N = 1, paired inside blocks.

    `single` was the fastest of `among`.
    """

    arm: str
    single: Configuration
    among: list[Configuration]
    ratios: dict[int, RatioVerdict]

    @property
    def at(self) -> int | None:
        """The smallest N at which threads are faster."""
        return min((n for n, ratio in self.ratios.items() if ratio.verdict.side > 0), default=None)

    @property
    def undecided(self) -> list[int]:
        """The Ns at which the verdict is inconclusive."""
        return [n for n, ratio in self.ratios.items() if not ratio.verdict.is_decided]

    @property
    def outcome(self) -> Outcome:
        """`never` only where threads were slower or the same at every N; an inconclusive N leaves
        it open.
        """
        if self.at is not None:
            return "reached"
        return "inconclusive" if self.undecided else "never"


def break_evens(runs: Paired) -> Pending[list[BreakEven]]:
    """One for every version that has threads without the GIL and a single worker with it."""
    pending = [each for version in version_arms(runs.arms) if (each := _break_even(runs, version))]

    def complete(verdicts: Iterator[RatioVerdict]) -> list[BreakEven]:
        found = [each.complete(verdicts) for each in pending]
        return [each for each in found if each.ratios]

    return Pending([each for part in pending for each in part.hypotheses], complete)


def _break_even(runs: Paired, version: VersionArms) -> Pending[BreakEven] | None:
    models = ("threads", *PROCESSES)
    among = runs.measured(
        Configuration(arm, model, 1) for arm in version.with_gil for model in models
    )
    single = runs.fastest(among)
    if single is None:
        return None
    free, margin = version.free, runs.margin("throughput")
    ratios = {
        n: runs.ratios(Configuration(free, "threads", n), single, "throughput")
        for n in runs.workers
    }

    def complete(verdicts: Iterator[RatioVerdict]) -> BreakEven:
        found = {n: next(verdicts) for n in ratios}
        return BreakEven(free, single, among, {n: ratio for n, ratio in found.items() if ratio.n})

    hypotheses = [hypothesis(each, margin, family="exploratory") for each in ratios.values()]
    return Pending(hypotheses, complete)
