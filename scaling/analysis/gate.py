"""The gate: whether a study proves that scaling has become too bad, for CI to fail on.

Each of the cells that were chosen is checked against each bound (`scaling.analysis.gate_bounds`),
and the checks are judged together as one family. A check fails only where that is proven: its whole
interval is below the bound, and stays so when Holm's correction accounts for the number of checks
(`scaling.analysis.statistics.verdict`, with the bound in the place of 1). It holds only where that
is proven, too; else it is inconclusive.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Literal

from scaling.analysis.between_studies import Across
from scaling.analysis.blocks import Blocks
from scaling.analysis.results import StudyResults
from scaling.analysis.statistics import estimate
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
from scaling.study.controls import is_control
from scaling.study.load import is_open_loop
from scaling.study.presets import FEWEST_FOR_INTERVAL
from scaling.study.questions import THROUGHPUT, curve_of

# -------------------------------------------------------------------------------------------- cells
# Which cells of a study are to be checked, and which compared with an earlier study.
#
# Those of an open loop are never checked: their throughput is that of the schedule.

AT = "workers"  # the field of a cell that `--at` names

type Choice = Mapping[str, Collection[object]]  # of cells: what a field may be, by its name


def is_chosen(cell: Cell, wanted: Choice) -> bool:
    """Whether each field of a cell is one of the values that it may be."""
    return all(getattr(cell, field) in values for field, values in wanted.items())


def passes(cell: Cell, wanted: Choice) -> bool:
    """Whether a cell is chosen; controls only if they are named."""
    is_meant = "workload" in wanted or not is_control(cell.workload, cell.parameters)
    return is_meant and is_chosen(cell, wanted)


def checked(blocks: Blocks, wanted: Choice) -> list[Cell]:
    """The cells of closed loops that are chosen, at least one; without an N the largest of each
    curve above 1 that has a core for each worker.

    Raises:
        UsageError: a name or an N that no cell has, or nothing is left.
    """
    closed = [each for each in blocks.cells if not is_open_loop(each.parameters)]
    if not closed:
        raise UsageError(
            "gate: this study has nothing but open loops, whose throughput is that of the schedule"
        )
    found = named(closed, wanted)
    if AT not in wanted:
        inside = (
            each for each in found if each.workers > 1 and blocks.region(each) in ("cores", None)
        )
        found = [list(curve)[-1] for _, curve in groupby(inside, key=curve_of)]
    if not found:
        raise UsageError(
            "gate: no curve has an N above 1 with a core for each worker; choose an N with --at"
        )
    return found


def named(cells: Iterable[Cell], wanted: Choice) -> list[Cell]:
    """Those of the cells that are chosen.

    Raises:
        UsageError: a name or an N that no cell has, or nothing is left.
    """
    cells, names = list(cells), {field: wanted[field] for field in wanted if field != AT}
    for field, values in names.items():
        _require(cells, field, values, f"--{field}", "not in this study, which has")
    curves = [each for each in cells if passes(each, names)]
    if not curves:
        raise UsageError("gate: no curve of this study matches all options; leave one out")
    _require(curves, AT, wanted.get(AT, ()), "--at", "not measured; these curves have N =")
    return [each for each in curves if is_chosen(each, wanted)]


def _require(
    cells: Sequence[Cell], field: str, values: Iterable[object], flag: str, absent: str
) -> None:
    """Raise `UsageError` for the first of the values that no cell has."""
    there = sorted({getattr(each, field) for each in cells})
    for value in values:
        if value not in there:
            raise UsageError(f"gate: {flag} {value}: {absent} {', '.join(map(str, there))}")


# ---------------------------------------------------------------------------------- what is checked

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


@dataclass(frozen=True, eq=False)
class Checked:
    """The cells that are checked, of a study and of an earlier one, if there is one."""

    cells: Sequence[Cell]
    now: StudyResults
    across: Across | None

    @cached_property
    def in_both(self) -> list[Cell]:
        """Those that the earlier study has, too.

        Raises:
            UsageError: there is none.
        """
        return in_both(self.cells, self.across.then.blocks.cells if self.across else ())

    def paired(
        self, what: str, of: Cell, over: Cell, least: float, *, per: float = 1.0
    ) -> BoundCheck:
        """That throughput of a cell over that of another, `per` so much, is `least` or more."""
        values = self.now.blocks.ratio(of, over, THROUGHPUT).values / per
        tested = hypothesis(values / least, 0.0)
        return BoundCheck(self.now.names[of], what, median(values, ""), least, tested)

    def over_old(self, what: str, cell: Cell, least: float) -> BoundCheck:
        """That throughput of a cell over that of the earlier study is `least` or more."""
        assert self.across is not None
        studies = (self.now, self.across.then)
        ours, theirs = (each.blocks.series(cell, THROUGHPUT).values for each in studies)
        tested = unpaired_hypothesis(ours / least, theirs, 0.0)
        name = self.now.names[cell]
        return BoundCheck(name, what, estimate.ratio(ours, theirs), least, tested)


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


# ------------------------------------------------------------------------------------------ judging

WORDS: dict[int, Word] = {1: "holds", -1: "fails", 0: "inconclusive"}


def judged(checks: Sequence[BoundCheck], void: str = "") -> list[BoundCheck]:
    """The checks with their words, one family. In a `void` study (the reason) no word is given.

    Raises:
        UsageError: a cell has no valid run.
    """
    if blank := [f"{each.what} of {each.cell}" for each in checks if not each.value.n]:
        # Not inconclusive: a cell that always crashes would pass for ever.
        raise UsageError(
            f"gate: no valid runs for {'; '.join(blank)}. `scaling show RESULTS --details` lists "
            "the reasons"
        )
    found = []
    for each, ratio in zip(checks, judge([each.tested for each in checks]), strict=True):
        word = "inconclusive" if void else WORDS[ratio.verdict.side]
        why = void or _why(each, ratio, word, len(checks))
        found.append(replace(each, word=word, why=why))
    return found


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
