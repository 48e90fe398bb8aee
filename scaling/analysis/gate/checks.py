"""The checks: each cell against each bound, judged together as one family.

A check fails only where that is proven: its whole interval is below the bound, and stays so when
Holm's correction accounts for the number of checks (`scaling.analysis.statistics.verdict`, with the
bound in the place of 1). It holds only where that is proven, too; else it is inconclusive.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from scaling.analysis.between_studies import Across
from scaling.analysis.gate.bounds import BOUNDS
from scaling.analysis.gate.cells import in_both
from scaling.analysis.gate.request import Limits
from scaling.analysis.ratios import quotient
from scaling.analysis.results import StudyResults
from scaling.analysis.statistics import unpaired
from scaling.analysis.statistics.estimate import Estimate, median
from scaling.analysis.statistics.verdict import (
    Hypothesis,
    RatioVerdict,
    hypothesis,
    judge,
    unpaired_hypothesis,
)
from scaling.base.errors import UsageError
from scaling.base.formats import number, plural
from scaling.journal.record import Cell
from scaling.study.presets import FEWEST_FOR_INTERVAL
from scaling.study.questions import THROUGHPUT

type Word = Literal["holds", "fails", "inconclusive"]

WORDS: dict[int, Word] = {1: "holds", -1: "fails", 0: "inconclusive"}


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


def limits_held(checked: Checked, limits: Limits, void: str = "") -> list[BoundCheck]:
    """Every cell against every bound, one family. In a `void` study (the reason) no word is given.

    Raises:
        UsageError: no cell can be compared with a bound, or one has no valid run.
    """
    family = [
        check
        for name, share in limits.bounds.items()
        for check in BOUNDS[name].rule(checked, share)
    ]
    if blank := [f"{each.what} of {each.cell}" for each in family if not each.value.n]:
        # Not inconclusive: a cell that always crashes would pass for ever.
        raise UsageError(
            f"gate: no valid runs for {'; '.join(blank)}. `scaling show RESULTS --details` lists "
            "the reasons"
        )
    return list(_settled(family, void))


def _settled(family: Sequence[BoundCheck], void: str) -> Iterable[BoundCheck]:
    for each, found in zip(family, judge([each.tested for each in family]), strict=True):
        word = "inconclusive" if void else WORDS[found.verdict.side]
        yield replace(each, word=word, why=void or _why(each, found, word, len(family)))


def _why(each: BoundCheck, found: RatioVerdict, word: Word, among: int) -> str:
    value, bound = each.value, number(each.bound)
    if value.n < FEWEST_FOR_INTERVAL:
        return f"{plural(value.n, 'block')}; an interval takes {FEWEST_FOR_INTERVAL}"
    if found.verdict.reason == "two states":
        return found.verdict.why
    if word != "inconclusive":
        return f"its whole interval is {'below' if word == 'fails' else 'above'} {bound}"
    if value.low <= each.bound <= value.high:
        return f"its interval has {bound} inside"
    side = "below" if value.high < each.bound else "above"
    by_chance = f"so might one of {plural(among, 'check')} by chance"
    return f"its interval is {side} {bound}, but {by_chance}"
