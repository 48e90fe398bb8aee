"""The bounds that the gate can check, in one table: `BOUNDS`.

To add one, add a function and its entry: the flag, its place in `--help` and the check follow. The
function yields a `BoundCheck` for each cell that is checked. Nothing here imports pandas: `--help`
reads it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scaling.base.errors import UsageError

if TYPE_CHECKING:
    from scaling.analysis.gate.checked import BoundCheck, Checked

type Rule = Callable[["Checked", float], Iterator["BoundCheck"]]


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound as a share of 1: its flag, what `--help` says, and the value that nothing could fail.

    One that is `over_old` needs an earlier study.
    """

    flag: str
    about: str
    useless: float
    rule: Rule
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
