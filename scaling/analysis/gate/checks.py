"""The checks: each cell against each bound, judged together as one family.

A check fails only where that is proven: its whole interval is below the bound, and stays so when
Holm's correction accounts for the number of checks (`scaling.analysis.statistics.verdict`, with the
bound in the place of 1). It holds only where that is proven, too; else it is inconclusive.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from scaling.analysis.gate.bounds import BOUNDS
from scaling.analysis.gate.checked import BoundCheck, Checked, Word
from scaling.analysis.lookup.cells import Choice
from scaling.analysis.statistics.verdict import RatioVerdict, judge
from scaling.base.errors import UsageError
from scaling.base.formats import number, plural
from scaling.base.typed import share as share_of
from scaling.base.typed import values_in
from scaling.study.presets import FEWEST_FOR_INTERVAL

# ------------------------------------------------------------------------------------ what is asked
# What the gate checks: which cells against which bounds.


class Limits:
    """Bounds as shares of 1: `min_efficiency` 0.8, `max_regression` 0.05 over the study `against`.

    Without a bound, a study `against` which to compare is enough.

    Raises:
        UsageError: no bound, half of one, or one that nothing could fail.
    """

    def __init__(self, against: Path | None = None, **bounds: float | None) -> None:
        self.against = against
        self.bounds = {name: value for name, value in bounds.items() if value is not None}
        if not self.bounds and against is None:
            raise UsageError(
                "gate: no bound given: use --min-efficiency 0.8, or --against OLD (with "
                "--max-regression 5% as a bound), or both"
            )
        for name, value in self.bounds.items():
            bound = BOUNDS[name]
            if bound.over_old and against is None:
                raise UsageError(f"gate: {bound.flag} needs a study to compare with: --against OLD")
            if value == bound.useless:
                raise UsageError(f"gate: {bound.flag}: a bound of {value:.0%} can never fail")


def share(text: str | None, flag: str) -> float | None:
    """`5%` and `0.05` as 0.05; None stays None.

    Raises:
        UsageError: it is not a number from 0 to 1.
    """
    if text is None:
        return None
    value = share_of(text)
    if not 0 <= value <= 1:
        meant = f" Did you mean {value / 100:g}?" if text.isdecimal() and value <= 100 else ""
        raise UsageError(f"gate: {flag}: expected a share such as 0.8 or 5%, got {text!r}.{meant}")
    return value


def choice_of(typed: Mapping[str, Iterable[str] | None], at: Iterable[str] | None) -> Choice:
    """Which cells are meant by flags as typed: `a,b`, repeated, or both; `at` are their Ns.

    Raises:
        UsageError: a flag has no value, or an N is not a whole number from 1 on.
    """
    names = {name: values_in(texts or (), f"--{name}") for name, texts in typed.items()}
    ns = values_in(at or (), "--at")
    for text in ns:
        if not text.isdecimal() or int(text) < 1:
            raise UsageError(f"gate: --at: expected numbers of workers, such as 2,4, got {text!r}")
    choice: Choice = {**names, "workers": [int(each) for each in ns]}
    return {field: values for field, values in choice.items() if values}


# ------------------------------------------------------------------------------------------- checks

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
