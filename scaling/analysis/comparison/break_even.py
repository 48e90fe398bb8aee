"""Break-even: the smallest N at which free-threaded threads beat the best single GIL process.

They do where the verdict is `faster`. That process is the fastest, by median, of what one worker on
`3.14` or `3.14+mimalloc` did, as a thread or as a process of its own: the choice that a person has
who runs one loop today.
"""

from dataclasses import dataclass
from typing import Literal

from scaling.analysis.comparison.families import Family, families
from scaling.analysis.comparison.paired import Configuration, Paired
from scaling.analysis.statistics.verdict import RatioVerdict, ask, judged

type Outcome = Literal["reached", "never", "can't tell"]


@dataclass(frozen=True, slots=True)
class BreakEven:
    """Threads of `arm` at each N over the `single` process at N = 1, paired inside blocks.

    `among` are the single ones of which `single` was the fastest. The verdicts at all Ns are one
    family.
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
        """The Ns at which one can't tell."""
        return [n for n, ratio in self.ratios.items() if ratio.verdict.word == "can't tell"]

    @property
    def outcome(self) -> Outcome:
        """`never` is only said where every N was slower or the same; one where one can't tell
        leaves it open.
        """
        if self.at is not None:
            return "reached"
        return "can't tell" if self.undecided else "never"


def break_evens(runs: Paired) -> list[BreakEven]:
    """One for every version that has threads without the GIL and a single worker with it."""
    found = (_break_even(runs, family) for family in families(runs.arms))
    return [each for each in found if each is not None]


def _break_even(runs: Paired, family: Family) -> BreakEven | None:
    models = ("threads", "processes")
    among = runs.measured(
        Configuration(arm, model, 1) for arm in family.with_gil for model in models
    )
    single = runs.fastest(among)
    if single is None:
        return None
    configurations = [Configuration(family.free, "threads", n) for n in runs.workers]
    margin = runs.margin("throughput")
    answers = judged(
        [
            ask(runs.ratios(configuration, single, "throughput"), margin)
            for configuration in configurations
        ]
    )
    known = {
        configuration.workers: ratio
        for configuration, ratio in zip(configurations, answers, strict=True)
        if ratio.n
    }
    return BreakEven(family.free, single, among, known) if known else None
