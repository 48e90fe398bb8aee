"""The rule of a claim as tests of its figures, each with the result that the claim needs.

The figure is divided by its bound and compared with 1 (`scaling.analysis.statistics.verdict`). A
claim holds if every test gives the needed result, and does not hold if one of them rules that
result out.

A figure is above or below a bound where its whole interval is: what tolerance a bound has is in the
bound, and noise is in the interval. A claim of more or less without a size is compared with 1, by
the margin of the study, and does not hold where the ratio is proven to be the same.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from scaling.analysis.claims.claim import Claim, amount
from scaling.analysis.lookup.figure import Figure
from scaling.analysis.statistics.estimate import Estimate
from scaling.analysis.statistics.hypotheses import CORRECTIONS, Family
from scaling.analysis.statistics.verdict import (
    Hypothesis,
    Margin,
    Verdict,
    hypothesis,
    place,
    reach,
)
from scaling.base.formats import number, percent, plural
from scaling.study.presets import FEWEST_FOR_INTERVAL

type Needed = Literal["above", "below", "same"]

AGAINST_ONE: dict[str, Needed] = {"more": "above", "less": "below", "same": "same"}
SIDES = {"above": 1, "below": -1}
FAMILY: Family = "exploratory"
BOUNDS = (
    "latencies in it are bounds (a server fell behind or declined requests, or the load generator "
    "was late), so it may be on the other side"
)


@dataclass(frozen=True, slots=True)
class ClaimTest:
    """One test of a claim: whether `value` is above or below `bound`, or the same as 1.

    `question` is about the value divided by its bound; `bound` is empty where a ratio is compared
    with 1. From `least` to `most` are the medians that the quotient can have: latencies may be
    bounds (`scaling.analysis.table.latency`).
    """

    value: Estimate
    question: Hypothesis
    needed: Needed
    least: float
    most: float
    bound: str = ""

    def outcome(self, verdict: Verdict) -> int:
        """1 if the test gives the needed result, -1 if it rules that out, 0 if inconclusive."""
        if not verdict.holds_between(self.least, self.most):
            return 0
        if self.needed == "same":
            return 1 if verdict.word == "same" else -abs(verdict.side)
        if verdict.word == "same":  # nothing that is claimed to be more or less
            return -1
        return SIDES[self.needed] * verdict.side

    def why(self, verdict: Verdict, among: int) -> str:
        """The reason for the outcome; `among` is how many hypotheses the correction is over."""
        margin = verdict.margin
        low, high = reach(margin)
        if not self.value.n:
            return "no valid run"
        if self.value.n < FEWEST_FOR_INTERVAL:
            return f"{plural(self.value.n, 'block')}; an interval takes {FEWEST_FOR_INTERVAL}"
        if math.isnan(verdict.p_differs):  # not tested
            return verdict.why
        if not verdict.holds_between(self.least, self.most):
            return BOUNDS
        if verdict.word == "same":
            return f"its whole interval is within {percent(margin)} of 1"
        if verdict.side:
            where = "above" if verdict.side > 0 else "below"
            limit = self.bound or number(high if verdict.side > 0 else low)
            return f"its whole interval is {where} {limit}"
        if verdict.reason in ("two states", "A/A pair differs"):
            return verdict.why
        return self._undecided(verdict, among)

    def _undecided(self, verdict: Verdict, among: int) -> str:
        """Why a figure that was tested is neither above nor below, nor the same."""
        margin, ratio = verdict.margin, self.question.value
        where = place(ratio, margin)
        if where in ("outside", "inside"):
            name = CORRECTIONS[FAMILY].name
            return f"not significant after {name} correction over {among} hypotheses (5 %)"
        if self.bound:
            return f"its interval has {self.bound} inside"
        return f"its interval is not clear of 1 by {percent(margin)}"


def tests_of(claim: Claim, figures: Sequence[Figure]) -> list[ClaimTest]:
    """The tests that the claim's rule makes of each of its figures."""
    for rule, needed in AGAINST_ONE.items():
        if getattr(claim, rule):
            return [_test(each, needed) for each in figures]
    least, most = claim.between or (claim.at_least, claim.at_most)
    bounds: list[tuple[Needed, float | None]] = [("above", least), ("below", most)]
    return [
        _test(each, needed, bound)
        for each in figures
        for needed, bound in bounds
        if bound is not None
    ]


def _test(found: Figure, needed: Needed, bound: float | None = None) -> ClaimTest:
    """That of a figure against a bound; without one, of a ratio against 1."""
    by = bound or 1.0
    known = np.isfinite(found.values)
    margin = found.margin if bound is None else Margin(0.0, found.margin.doubt)
    least, most = (
        float(np.median(ends[known])) / by if known.any() else math.nan
        for ends in (found.least, found.most)
    )
    return ClaimTest(
        found.estimate,
        hypothesis(found.values / by, margin, family=FAMILY),
        needed,
        least,
        most,
        "" if bound is None else amount(bound, found.estimate.unit),
    )
