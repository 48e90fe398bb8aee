"""The checks: each cell against each bound, judged together as one family.

A check fails only where that is proven: its whole interval is below the bound, and stays so when
Holm's correction accounts for the number of checks (`scaling.analysis.statistics.verdict`, with the
bound in the place of 1). It holds only where that is proven, too; else it is inconclusive.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from scaling.analysis.gate.bounds import BOUNDS
from scaling.analysis.gate.checked import BoundCheck, Checked, Word
from scaling.analysis.gate.request import Limits
from scaling.analysis.statistics.verdict import (
    RatioVerdict,
    judge,
)
from scaling.base.errors import UsageError
from scaling.base.formats import number, plural
from scaling.study.presets import FEWEST_FOR_INTERVAL

WORDS: dict[int, Word] = {1: "holds", -1: "fails", 0: "inconclusive"}


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
