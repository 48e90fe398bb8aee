"""What the gate checks: which cells against which bounds."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from scaling.analysis.gate.bounds import BOUNDS
from scaling.analysis.lookup.cells import Choice
from scaling.base.errors import UsageError
from scaling.base.typed import share as share_of
from scaling.base.typed import values_in


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
