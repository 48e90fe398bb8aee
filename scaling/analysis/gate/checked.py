"""What the gate checks: cells of a study, and each of them against a bound."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from scaling.analysis.between_studies import Across
from scaling.analysis.ratios import quotient
from scaling.analysis.results import StudyResults
from scaling.analysis.statistics import unpaired
from scaling.analysis.statistics.estimate import Estimate, median
from scaling.analysis.statistics.verdict import (
    Hypothesis,
    hypothesis,
    unpaired_hypothesis,
)
from scaling.base.errors import UsageError
from scaling.journal.record import Cell
from scaling.study.questions import THROUGHPUT

type Word = Literal["holds", "fails", "inconclusive"]


@dataclass(frozen=True, slots=True)
class BoundCheck:
    """One cell against one bound: `value`, of `what`, was to be `bound` or more; `why` it is so.

    `tested` is the value over the bound.
    """

    cell: str
    what: str
    value: Estimate
    bound: float
    tested: Hypothesis
    word: Word = "inconclusive"
    why: str = ""


class Checked:
    """The cells that are checked, of a study and of an earlier one, if there is one."""

    def __init__(self, cells: Sequence[Cell], now: StudyResults, across: Across | None) -> None:
        self.cells = cells
        self.now = now
        self._across = across

    @cached_property
    def in_both(self) -> list[Cell]:
        """Those that the earlier study has, too.

        Raises:
            UsageError: there is none.
        """
        return in_both(self.cells, self._across.then.blocks.cells if self._across else ())

    def paired(
        self, what: str, of: Cell, over: Cell, least: float, *, per: float = 1.0
    ) -> BoundCheck:
        """That throughput of a cell over that of another, `per` so much, is `least` or more."""
        blocks = self.now.blocks
        values = quotient(blocks.series(of, THROUGHPUT), blocks.series(over, THROUGHPUT)) / per
        tested = hypothesis(values / least, 0.0)
        return BoundCheck(self.now.names[of], what, median(values, ""), least, tested)

    def over_old(self, what: str, cell: Cell, least: float) -> BoundCheck:
        """That throughput of a cell over that of the earlier study is `least` or more."""
        assert self._across is not None
        studies = (self.now, self._across.then)
        ours, theirs = (each.blocks.series(cell, THROUGHPUT).values for each in studies)
        tested = unpaired_hypothesis(ours / least, theirs, 0.0)
        name = self.now.names[cell]
        return BoundCheck(name, what, unpaired.ratio(ours, theirs), least, tested)


def in_both(now: Iterable[Cell], then: Sequence[Cell]) -> list[Cell]:
    """The cells that both studies have, at least one.

    Raises:
        UsageError: there is none.
    """
    earlier = set(then)
    if found := [each for each in now if each in earlier]:
        return found
    raise UsageError(
        "gate: --against: the studies have no cell in common (workload, parameters, loop, arm, "
        "model, N)"
    )
