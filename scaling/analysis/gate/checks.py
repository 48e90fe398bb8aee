"""The checks: each cell against each bound, judged together as one family.

A check fails only where that is proven: its whole interval is below the bound, and stays so when
Holm's correction accounts for the number of checks (`scaling.analysis.statistics.verdict`, with the
bound in the place of 1). It holds only where that is proven, too; else it is inconclusive.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from scaling.analysis.gate.cells import CheckedCell, Pair, pairs
from scaling.analysis.gate.request import Limits
from scaling.analysis.statistics.estimate import Estimate
from scaling.analysis.statistics.unpaired import ratio
from scaling.analysis.statistics.verdict import (
    Hypothesis,
    RatioVerdict,
    hypothesis,
    judge,
    unpaired_hypothesis,
)
from scaling.base.errors import UsageError
from scaling.base.formats import number, plural
from scaling.study.presets import FEWEST_FOR_INTERVAL

type Word = Literal["holds", "fails", "inconclusive"]

WORDS: dict[int, Word] = {1: "holds", -1: "fails", 0: "inconclusive"}


@dataclass(frozen=True, slots=True)
class BoundCheck:
    """One cell against one bound: `value`, of `what`, was to be `bound` or more; `why` it is so."""

    cell: str
    what: str
    value: Estimate
    bound: float
    word: Word
    why: str


@dataclass(frozen=True, slots=True)
class _Open:
    """A check before its family is known; `tested` is the value over the bound."""

    cell: str
    what: str
    value: Estimate
    bound: float
    tested: Hypothesis


def efficiencies(cells: Sequence[CheckedCell], least: float) -> list[_Open]:
    """The efficiency of every cell above N = 1, which must be `least` or more.

    Raises:
        UsageError: there is no such cell, or no run at N = 1 that it could be over.
    """
    above_one = [cell for cell in cells if cell.point.workers > 1]
    if not above_one:
        raise UsageError("gate: efficiency is 1 at N = 1; choose an N above 1 with --at")
    for cell in above_one:
        if 1 not in cell.curve.workers:
            raise UsageError(f"gate: {cell.name}: efficiency needs N = 1, which was not measured")
    return [
        _Open(cell.name, "efficiency", cell.point.efficiency, least, _over(cell, least))
        for cell in above_one
    ]


def _over(cell: CheckedCell, least: float) -> Hypothesis:
    return hypothesis(cell.runs("efficiency") / least, 0.0)


def regressions(
    now: Sequence[CheckedCell], then: Sequence[CheckedCell], most: float
) -> list[_Open]:
    """Throughput over that of the same cell `then`, which may be lower by the share `most`.

    Raises:
        UsageError: the studies have none of these cells in common.
    """
    return list(_regressions(pairs(now, then), 1 - most))


def _regressions(both: list[Pair], least: float) -> Iterator[_Open]:
    for cell, old in both:
        ours, theirs = cell.runs("throughput"), old.runs("throughput")
        tested = unpaired_hypothesis(ours / least, theirs, 0.0)
        yield _Open(cell.name, "throughput over OLD", ratio(ours, theirs), least, tested)


def settle(family: Sequence[_Open], void: str = "") -> list[BoundCheck]:
    """The checks with their words. In a `void` study (the reason) all are inconclusive."""
    verdicts = judge([each.tested for each in family])
    return [
        _settled(each, verdict, len(family), void)
        for each, verdict in zip(family, verdicts, strict=True)
    ]


def _settled(each: _Open, ratio: RatioVerdict, among: int, void: str) -> BoundCheck:
    value, bound = each.value, number(each.bound)
    word = WORDS[ratio.verdict.side]
    if void:
        word, why = "inconclusive", void
    elif value.n < FEWEST_FOR_INTERVAL:
        why = f"{plural(value.n, 'block')}; an interval takes {FEWEST_FOR_INTERVAL}"
    elif ratio.verdict.reason == "two states":
        why = ratio.verdict.why
    elif word == "fails":
        why = f"its whole interval is below {bound}"
    elif word == "holds":
        why = f"its whole interval is above {bound}"
    elif value.low <= each.bound <= value.high:
        why = f"its interval has {bound} inside"
    else:
        side = "below" if value.high < each.bound else "above"
        by_chance = f"so might one of {plural(among, 'check')} by chance"
        why = f"its interval is {side} {bound}, but {by_chance}"
    return BoundCheck(each.cell, each.what, value, each.bound, word, why)


def limits_held(
    now: Sequence[CheckedCell], limits: Limits, then: Sequence[CheckedCell] = (), void: str = ""
) -> list[BoundCheck]:
    """Every cell against every bound, one family; `then` is of the study `limits.against`.

    Raises:
        UsageError: no cell can be compared with a bound, or one has no valid run.
    """
    family: list[_Open] = []
    if limits.min_efficiency is not None:
        family += efficiencies(now, limits.min_efficiency)
    if limits.max_regression is not None:
        family += regressions(now, then, limits.max_regression)
    if blank := [f"{each.what} of {each.cell}" for each in family if not each.value.n]:
        # Not inconclusive: a cell that always crashes would pass for ever.
        raise UsageError(
            f"gate: no valid runs for {'; '.join(blank)}. `scaling show RESULTS --details` lists "
            "the reasons"
        )
    return settle(family, void)
