"""What each remedy brings: every arm with one over the arm without, paired inside blocks.

The throughput of a closed loop, or of work without one, at the headline N is the primary question,
one hypothesis for each remedy: Holm's correction is over all of them, controls included. All other
ratios are exploratory.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

from scaling.analysis.comparison import Compared
from scaling.analysis.ratios import Ratio, ratios
from scaling.analysis.results import StudyResults
from scaling.analysis.table.groups import names_without_rate
from scaling.builds.settings import REMEDIES, SETTINGS
from scaling.study.questions import CPU, MEMORY, P99, THROUGHPUT, Asked
from scaling.study.remedies import LeftOut

QUESTION = "setting"


@dataclass(frozen=True, slots=True)
class Factor:
    """One figure of a cell that has a remedy or several, over that of one that has none."""

    subject: str
    ratio: Ratio

    @property
    def added(self) -> tuple[str, ...]:
        """The settings that are compared: what the one arm has and the other has not."""
        without = self.ratio.over.arm.split("+")
        return tuple(each for each in self.ratio.of.arm.split("+") if each not in without)

    @property
    def is_control(self) -> bool:
        """Whether all that was added is a control, which must not help."""
        return all(name in SETTINGS and SETTINGS[name].control for name in self.added)


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
            if each.ratio.measure == THROUGHPUT
            and each.ratio.of.workers == self.headline_n
            and model in (None, each.ratio.of.model)
        ]
        return sorted(found, key=lambda each: -each.ratio.point)

    def winners(self, base: str) -> list[str]:
        """The remedies that are proven to be faster than that arm at the headline N, best first."""
        proven = [
            each
            for each in self.throughput()
            if each.ratio.over.arm == base and each.ratio.verdict.side > 0 and not each.is_control
        ]
        return list(dict.fromkeys("+".join(each.added) for each in proven))

    @property
    def suspicious(self) -> list[Factor]:
        """The controls that seem to help, at any N: the figures of this study are in doubt."""
        return [
            each
            for each in self.factors
            if each.is_control and each.ratio.measure == THROUGHPUT and each.ratio.verdict.side > 0
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
    on_loops = [each for each in results.judged if not each.is_across_loops]
    closed = [each for each in on_loops if each.section.rate_per_s is None]
    # P99 stands beside the figures of the closed loop.
    about = names_without_rate(results.blocks.cells, simulated=results.study.simulated)
    asked = [one for each in on_loops for one in _asked(each, bases)]
    factors = [Factor(about[each.of], each) for each in ratios(results.blocks, asked)]
    headline_n = max((each.headline_n for each in closed), default=1)
    return Remedies(factors, headline_n, _unmeasured(results, factors))


def _unmeasured(results: StudyResults, factors: Sequence[Factor]) -> dict[str, str]:
    """The arms of the study that are in no factor; of their runs the first fault."""
    known = {arm for each in factors for arm in (each.ratio.of.arm, each.ratio.over.arm)}
    found = {}
    for arm in results.study.arms:
        runs = results.frame[(results.frame["arm"] == arm) & ~results.frame["valid"]]
        if arm not in known and len(runs):
            found[arm] = "; ".join(runs["details"].iloc[0])
    return found


def _asked(compared: Compared, bases: Sequence[str]) -> Iterator[Asked]:
    """Of an open loop only latency: throughput is the schedule's."""
    is_open_loop = compared.section.rate_per_s is not None
    measures = (P99,) if is_open_loop else (THROUGHPUT, CPU, MEMORY)
    for arm, model, n in product(compared.arms, compared.models, compared.workers):
        base = _base_of(arm, bases)
        if base is None:
            continue
        of, over = compared.cell(arm, model, n), compared.cell(base, model, n)
        if len(compared.measured([of, over])) == 2:
            for measure in measures:
                headline = measure == THROUGHPUT and n == compared.headline_n
                yield Asked(QUESTION, measure, of, (over,), headline)


def _base_of(arm: str, bases: Sequence[str]) -> str | None:
    """The base that an arm adds settings to; of several the one that it adds the fewest to."""
    build, *settings = arm.split("+")
    under = [
        base
        for base in bases
        if base != arm and base.split("+")[0] == build and set(base.split("+")[1:]) <= set(settings)
    ]
    return max(under, key=lambda base: base.count("+"), default=None) if arm not in bases else None
