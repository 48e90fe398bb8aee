"""What the gate is asked: which bounds, of those in the table `BOUNDS`, and of which cells.

To add a bound, add a function and its entry: the flag, its place in `--help` and the check follow.
The function yields a `BoundCheck` for each cell that is checked. Nothing here imports pandas:
`--help` reads it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scaling.base.errors import UsageError
from scaling.base.typed import share as share_of
from scaling.base.typed import values_in

if TYPE_CHECKING:
    from scaling.analysis.gate import BoundCheck, Checked, Choice


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound as a share of 1: its flag, what `--help` says, and the value that nothing could fail.

    One that is `over_old` needs an earlier study.
    """

    flag: str
    about: str
    useless: float
    rule: Callable[["Checked", float], Iterator["BoundCheck"]]
    over_old: bool = False


def efficiency(checked: "Checked", least: float) -> Iterator["BoundCheck"]:
    """The efficiency of every cell above N = 1, which must be `least` or more.

    Raises:
        UsageError: there is no such cell, or no run at N = 1 that it could be over.
    """
    above_one = [each for each in checked.cells if each.workers > 1]
    if not above_one:
        raise UsageError("gate: efficiency is 1 at N = 1; choose an N above 1 with --at")
    for cell in above_one:
        one = cell.but(workers=1)
        if one not in checked.now.blocks.place:
            name = checked.now.names[cell]
            raise UsageError(f"gate: {name}: efficiency needs N = 1, which was not measured")
        yield checked.paired("efficiency", cell, one, least, per=cell.workers)


def regression(checked: "Checked", most: float) -> Iterator["BoundCheck"]:
    """Throughput over that of the same cell in OLD, which may be lower by the share `most`.

    Raises:
        UsageError: the studies have none of these cells in common.
    """
    for cell in checked.in_both:
        yield checked.over_old("throughput over OLD", cell, 1 - most)


# By the name of the parameter.
BOUNDS: dict[str, Bound] = {
    "min_efficiency": Bound(
        "--min-efficiency",
        "Lowest throughput of N workers as a share of N times one: 0.8.",
        0.0,
        efficiency,
    ),
    "max_regression": Bound(
        "--max-regression",
        "Largest loss of throughput compared with OLD: 5%.",
        1.0,
        regression,
        over_old=True,
    ),
}


# ------------------------------------------------------------------------------------ what is asked


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

    def checks(self, checked: "Checked") -> list["BoundCheck"]:
        """Every cell against every bound, not judged yet.

        Raises:
            UsageError: no cell can be compared with a bound.
        """
        return [
            check
            for name, share in self.bounds.items()
            for check in BOUNDS[name].rule(checked, share)
        ]


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


def choice_of(typed: Mapping[str, Iterable[str] | None], at: Iterable[str] | None) -> "Choice":
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
