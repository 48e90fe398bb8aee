"""Every ratio of a study with its estimate and verdict: one table for all comparisons.

What is compared is asked by `scaling.study.questions`; here each ratio is taken block by block,
estimated, tested and given its word (`scaling.analysis.statistics.verdict`), corrected for all
other ratios of the study. Terminal, page, CSV files, gate and commands select from it.

Some values are bounds. The P99 of a server that fell behind or declined requests is a lower bound,
so is a capacity beyond the rates that were measured; the ratio of two lower bounds is not known,
and has no value. Where a load generator was late, what the server needed lies between two
latencies. A word is given only where it holds for every true value that the bounds allow.

The runs of two studies were not made side by side: their ratios are unpaired, their verdicts
exploratory, and their margin is the wider one of the two. Bounds are treated as above.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.blocks import MEMORY_KINDS, OTHER_STUDY, PSS, RSS, Blocks
from scaling.analysis.statistics.hypotheses import Family
from scaling.analysis.statistics.verdict import (
    COST,
    LATENCY,
    RATE,
    Direction,
    Hypothesis,
    RatioVerdict,
    hypothesis,
    judge,
    unpaired_hypothesis,
    wider,
)
from scaling.journal.record import Cell
from scaling.study.questions import CAPACITY, MEMORY, P99, THROUGHPUT, Asked, every_ratio

FIGURES = {THROUGHPUT: "throughput", PSS: "memory", RSS: "memory"}
FELL_BEHIND = "a server fell behind, or declined requests: its P99 is a lower bound"
BEYOND_RATES = "a capacity lies outside the rates that were measured"
SENT_LATE = "the load generator was late, and its lateness may be all of the difference"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ratio(RatioVerdict):
    """The estimate of one ratio with its verdict: a measure `of` a cell `over` that of another.

    `question` is what it answers, `blocks` has the single ratios, shape (blocks,), NaN where a
    block has none. `measure` is as asked, but for memory, of which it says the kind; `over` is the
    strongest of the cells `among`. `why_apart` is why the two were not measured in turn, empty
    where they were. `name` is what a step of the ladder changes. `is_headline`: the question is
    about this ratio first. Of two studies `over` is of the earlier one, and `blocks` is empty.
    """

    question: str
    measure: str
    of: Cell
    over: Cell
    blocks: Floats
    why_apart: str = ""
    among: tuple[Cell, ...] = ()
    name: str = ""
    is_headline: bool = False

    @property
    def figure(self) -> str:
        """What it is of, as files and JSON call it: of a step of the ladder what changes in it."""
        return self.name or FIGURES.get(self.measure, self.measure)

    @property
    def asked_measure(self) -> str:
        """The measure as it was asked for: memory of either kind."""
        return MEMORY if self.memory_kind else self.measure

    @property
    def memory_kind(self) -> str:
        """Which reading a ratio of memory is of: `PSS`, `RSS`; empty for other measures."""
        return MEMORY_KINDS.get(self.measure, "")


class Ratios(tuple[Ratio, ...]):
    """The ratios of a study, question by question inside each section."""

    __slots__ = ()

    def where(
        self,
        question: str | None = None,
        measure: str | None = None,
        keep: Callable[[Ratio], bool] | None = None,
    ) -> "Ratios":
        """Those that answer a question, are of a measure, and are kept."""
        return Ratios(
            each
            for each in self
            if question in (None, each.question)
            and measure in (None, each.measure)
            and (keep is None or keep(each))
        )

    def same(self, ratio: Ratio, measure: str) -> Ratio | None:
        """The ratio of the same two cells in another measure, for the same question."""
        return next(
            (
                each
                for each in self
                if each.measure == measure
                and (each.question, each.of, each.over) == (ratio.question, ratio.of, ratio.over)
            ),
            None,
        )


def ratios(
    blocks: Blocks,
    asked: Iterable[Asked] | None = None,
    *,
    exploratory: bool = False,
    then: Blocks | None = None,
) -> Ratios:
    """The ratios of a study that have a value in any block; of all its questions, or those asked.

    Those of questions that the study has not named beforehand are all `exploratory`. With the
    blocks of an earlier study, `then`, the ratios asked for are over the cells of that.
    """
    asked = every_ratio(blocks) if asked is None else asked
    if then is None:
        found = (_paired(blocks, each, exploratory=exploratory) for each in asked)
    else:
        found = (_unpaired(blocks, then, each) for each in asked)
    taken = [each for each in found if each is not None]
    verdicts = judge([each.tested for each in taken])
    return Ratios(each.judged(verdict) for each, verdict in zip(taken, verdicts, strict=True))


class _Taken(NamedTuple):
    """A ratio whose verdict is not known yet.

    `sides` says on which sides of some ratios the true ones are: 1 for above, -1 for below.
    `between` are the least and the greatest median that the lateness of a load generator allows,
    None where values are exact.
    """

    asked: Asked
    measure: str
    over: Cell
    values: Floats
    why_apart: str
    sides: frozenset[int]
    between: tuple[float, float] | None
    tested: Hypothesis

    def judged(self, found: RatioVerdict) -> Ratio:
        """The ratio with its verdict; `inconclusive` where the bounds allow another one."""
        verdict = found.verdict
        if (verdict.is_decided or not found.n) and not self.sides <= {verdict.side}:
            is_capacity = self.measure.startswith(CAPACITY.format(""))
            found = found.undecided("bound", BEYOND_RATES if is_capacity else FELL_BEHIND)
        elif verdict.is_decided and self.between and not verdict.holds_between(*self.between):
            found = found.undecided("bound", SENT_LATE)
        asked = self.asked
        return Ratio(
            **{each.name: getattr(found, each.name) for each in fields(found)},
            question=asked.question,
            measure=self.measure,
            of=asked.of,
            over=self.over,
            blocks=self.values,
            why_apart=self.why_apart,
            among=asked.among,
            name=asked.name,
            is_headline=asked.headline,
        )


def _paired(blocks: Blocks, asked: Asked, *, exploratory: bool) -> _Taken | None:
    """The ratio block by block; None where no block has it."""
    over = asked.among[0]
    if len(asked.among) > 1:
        strongest = blocks.strongest(asked.among, asked.measure)
        if strongest is None:
            return None
        over = strongest
    measure = asked.measure
    if measure == MEMORY:
        measure = blocks.memory_column(asked.of)
    ratio = blocks.ratio(asked.of, over, measure)
    values = ratio.values
    for each in asked.along:
        values = np.where(np.isfinite(blocks.series(each, measure).values), values, np.nan)
    if asked.apart_from:
        values = values / blocks.ratio(*asked.apart_from, measure).values
    known = np.isfinite(values)
    if not known.any():
        return None
    under_load = measure == P99 or measure in blocks.derived  # its headline is always primary
    named = asked.question in blocks.primary or under_load
    family: Family = "primary" if asked.headline and named and not exploratory else "exploratory"
    tested = hypothesis(values, blocks.margin(measure), direction_of(measure), family)
    ends = [ratio.least[known], ratio.most[known]]
    between = None if ratio.is_exact else tuple(np.median(ends, axis=1).tolist())
    apart, sides = blocks.why_apart(asked.of, over), frozenset(ratio.side[known].tolist()) - {0}
    return _Taken(asked, measure, over, values, apart, sides, between, tested)


def _unpaired(now: Blocks, then: Blocks, asked: Asked) -> _Taken | None:
    """The ratio of the runs of two studies; None where one has no value, or memory of another kind.

    Of two medians that are bounds to the same side the ratio is not known.
    """
    (over,), measure = asked.among, asked.measure
    if measure == MEMORY:
        measure = now.memory_column(asked.of)
        if measure != then.memory_column(over):
            return None
    of, under = (side.known for side in (now.series(asked.of, measure), then.series(over, measure)))
    if not (len(of.values) and len(under.values)):
        return None
    margin = wider(each.margin(measure) for each in (now, then))
    none = np.empty(0)
    is_known = not of.bound or of.bound != under.bound
    ours, theirs = (of.values, under.values) if is_known else (none, none)
    tested = unpaired_hypothesis(ours, theirs, margin, direction_of(measure), "exploratory")
    with np.errstate(divide="ignore", invalid="ignore"):
        least = np.median(of.least) / np.median(under.most)
        most = np.median(of.most) / np.median(under.least)
    between = float(least), float(most)
    sides = frozenset({*of.side.tolist(), *(-under.side).tolist()}) - {0}
    return _Taken(asked, measure, over, none, OTHER_STUDY, sides, between, tested)


def direction_of(measure: str) -> Direction:
    """The words for less and more of a measure."""
    if measure == THROUGHPUT or measure.startswith(CAPACITY.format("")):
        return RATE
    return LATENCY if measure.startswith("latency_") else COST
