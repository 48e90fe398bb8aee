"""Break-even: the smallest N at which free-threaded threads beat the best single GIL process.

That process is the fastest, by median, of what one worker on `3.14` or `3.14+mimalloc` did, as a
thread or as a process of its own: the choice that a person has who runs one loop today.
"""

from dataclasses import dataclass
from typing import Literal

from scaling.analysis.estimate import Estimate
from scaling.analysis.families import Family, families
from scaling.analysis.paired import Paired, Way

type Outcome = Literal["reached", "never", "can't tell"]


@dataclass(frozen=True, slots=True)
class BreakEven:
    """Threads of `arm` at each N over the `single` process at N = 1, paired inside blocks.

    `among` are the single ones of which `single` was the fastest.
    """

    arm: str
    single: Way
    among: list[Way]
    ratios: dict[int, Estimate]

    @property
    def at(self) -> int | None:
        """The smallest N whose interval (or range) lies above 1 as a whole."""
        return min((n for n, ratio in self.ratios.items() if side(ratio) > 0), default=None)

    @property
    def undecided(self) -> list[int]:
        """The Ns at which the interval (or range) holds 1."""
        return [n for n, ratio in self.ratios.items() if side(ratio) == 0]

    @property
    def outcome(self) -> Outcome:
        """`never` is only said where every N was slower; one that is undecided leaves it open."""
        if self.at is not None:
            return "reached"
        return "can't tell" if self.undecided else "never"


def side(ratio: Estimate) -> int:
    """1 where a ratio is above 1 with all its interval, -1 where below, 0 where one can't tell.

    One run shows no spread, so nothing can be told from it.
    """
    if ratio.n < 2:
        return 0
    return int(ratio.low > 1) - int(ratio.high < 1)


def break_evens(runs: Paired) -> list[BreakEven]:
    """One for every version that has threads without the GIL and a single worker with it."""
    found = (_break_even(runs, family) for family in families(runs.arms))
    return [each for each in found if each is not None]


def _break_even(runs: Paired, family: Family) -> BreakEven | None:
    models = ("threads", "processes")
    among = runs.measured(Way(arm, model, 1) for arm in family.with_gil for model in models)
    single = runs.fastest(among)
    if single is None:
        return None
    ways = [Way(family.free, "threads", n) for n in runs.workers]
    ratios = {way.workers: runs.ratio(way, single, "throughput") for way in ways}
    known = {n: ratio for n, ratio in ratios.items() if ratio.n}
    return BreakEven(family.free, single, among, known) if known else None
