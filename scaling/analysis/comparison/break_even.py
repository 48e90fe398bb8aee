"""Break-even: the smallest N at which free-threaded threads beat the best single GIL process.

They do where the verdict is `faster` (`scaling.study.questions.break_even`).
"""

from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from scaling.analysis.comparison.compare import Compared
from scaling.analysis.ratios import Ratio

type Outcome = Literal["reached", "never", "inconclusive"]


@dataclass(frozen=True, slots=True)
class BreakEven:
    """Threads of one arm at each N over the same single worker: the ratios, N ascending."""

    ratios: list[Ratio]

    @property
    def at(self) -> Ratio | None:
        """That at the smallest N at which threads are faster."""
        return next((each for each in self.ratios if each.verdict.side > 0), None)

    @property
    def undecided(self) -> list[int]:
        """The Ns at which the verdict is inconclusive."""
        return [each.of.workers for each in self.ratios if not each.verdict.is_decided]

    @property
    def outcome(self) -> Outcome:
        """`never` only where threads were slower or the same at every N; an inconclusive N leaves
        it open.
        """
        if self.at is not None:
            return "reached"
        return "inconclusive" if self.undecided else "never"


def break_evens(compared: Compared) -> list[BreakEven]:
    """One for every version that has threads without the GIL and a single worker with it."""
    asked = compared.ratios.where("break-even")
    return [BreakEven(list(few)) for _, few in groupby(asked, key=lambda each: each.of.arm)]
