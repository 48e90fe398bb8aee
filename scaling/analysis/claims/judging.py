"""Claims judged: each with its word, the figures that decide, and the reason.

judge([scaling.read("results/million")])    each claim with its verdict, our figure and theirs
table(…)                                    the same as a pandas frame

No study names claims as its primary hypotheses, so the tests of all claims are one exploratory
family: of the claims with the verdict holds or does not hold, at most 5 % are expected to be wrong.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from scaling.analysis.claims import AGAINST_ONE, Claim, Claims, Needed, Source, read_claims
from scaling.analysis.lookup.cells import AbsentCellError
from scaling.analysis.lookup.figure import Figure, find, results_of
from scaling.analysis.results import StudyResults
from scaling.analysis.soundness import build_differences_of
from scaling.analysis.statistics.estimate import NO_VALUE, RATIO, Estimate
from scaling.analysis.statistics.hypotheses import CORRECTIONS, Family
from scaling.analysis.statistics.verdict import (
    Hypothesis,
    Margin,
    Verdict,
    hypothesis,
    place,
    reach,
)
from scaling.analysis.statistics.verdict import judge as judge_all
from scaling.analysis.table.load import Journal
from scaling.base.errors import UsageError
from scaling.base.formats import BLANK, number, percent, plural, unit_factor
from scaling.journal.record import Machine
from scaling.study.presets import FEWEST_FOR_INTERVAL

type Word = Literal["holds", "does not hold", "inconclusive", "cannot be tested here"]

WORDS: dict[int, Word] = {1: "holds", -1: "does not hold", 0: "inconclusive"}
UNTESTED: Word = "cannot be tested here"


@dataclass(frozen=True, slots=True)
class JudgedClaim:
    """A claim with its word and the `reason` for it.

    `ours` are the figures that decide: none where it cannot be tested. `study` is the folder of the
    study that they are from, `doubt` its status where its controls are not sound, `builds_differ`
    in what else the builds differ. `run` is the command that measures a claim for which there are
    no runs yet.
    """

    claim: Claim
    source: Source
    word: Word
    reason: str
    ours: tuple[Figure, ...] = ()
    study: str = ""
    doubt: str = ""
    builds_differ: str = ""
    run: str = ""


# ----------------------------------------------------------------------------------------- evidence
# The figures that decide a claim, from one of the studies, or why there are none.
#
# Of several studies with a claim's cells the one with the most blocks is used, the first of equals;
# a void one comes last. A study counts only if its machine has the cores that the claim needs.


@dataclass(frozen=True, slots=True)
class Evidence:
    """The figures that decide a claim, from one study."""

    study: StudyResults
    figures: list[Figure]

    @property
    def folder(self) -> str:
        """The name of the study's folder, since several studies may have one name."""
        path = self.study.path
        return (path.resolve().parent.name if path else "") or self.study.study.name

    @property
    def worthless(self) -> str:
        """Why none of the study's figures counts; empty if they do."""
        if self.study.study.simulated:
            return "the study is simulated: nothing was measured"
        is_void = self.study.soundness.status == "void"
        return "the study is void: its controls fail" if is_void else ""

    @property
    def rank(self) -> tuple[bool, int]:
        """The evidence with the highest rank is used."""
        return not self.worthless, min(each.estimate.n for each in self.figures)


def cores_for_workers(machine: Machine) -> float:
    """How many workers can have a full core each, not an efficiency core; 0 if unknown."""
    full = machine.physical_cores and machine.physical_cores - (machine.efficiency_cpus or 0)
    return min(filter(None, (full, machine.usable_cpus, machine.cpu_quota)), default=0)


def evidence(
    claim: Claim, source: Source, studies: Sequence[StudyResults]
) -> Evidence | JudgedClaim:
    """The best evidence that the studies have for a claim; without any the claim, untested."""

    def untested(reason: str, run: str = "") -> JudgedClaim:
        return JudgedClaim(claim, source, UNTESTED, reason, run=run)

    if claim.cannot:
        return untested(claim.cannot)
    if not studies:
        return untested("no study was given", claim.run)
    cores = [cores_for_workers(each.study.machine) for each in studies]
    needed, most = claim.cores_needed, max(cores)
    if most < needed:
        there = f"the machine has {most:g}" if most else "the number of cores is unknown"
        return untested(f"it takes {plural(needed, 'core')}; {there}")
    found: list[Evidence] = []
    missing: list[UsageError] = []
    for study, its_cores in zip(studies, cores, strict=True):
        if its_cores < needed:
            continue
        try:
            found.append(Evidence(study, [find(study, name) for name in claim.figures]))
        except UsageError as error:
            missing.append(error)
    if found:
        return max(found, key=lambda each: each.rank)
    nearest = min(missing, key=_distance)
    reason = str(nearest)
    if math.isinf(_distance(nearest)):
        reason = f"no study here has the workload {claim.cells[0]['workload']}"
    return untested(f"not measured: {reason}", claim.run)


def _distance(error: UsageError) -> float:
    return error.distance if isinstance(error, AbsentCellError) else 0


# -------------------------------------------------------------------------------------------- rules
# The rule of a claim as tests of its figures, each with the result that the claim needs.
#
# The figure is divided by its bound and compared with 1 (`scaling.analysis.statistics.verdict`). A
# claim holds if every test gives the needed result, and does not hold if one of them rules that
# result out.
#
# A figure is above or below a bound where its whole interval is: what tolerance a bound has is in
# the bound, and noise is in the interval. A claim of more or less without a size is compared with
# 1, by the margin of the study, and does not hold where the ratio is proven to be the same.

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
        for ends in (found.series.least, found.series.most)
    )
    return ClaimTest(
        found.estimate,
        hypothesis(found.values / by, margin, family=FAMILY),
        needed,
        least,
        most,
        "" if bound is None else amount(bound, found.estimate.unit),
    )


# ------------------------------------------------------------------------------------------ judging


def judge(journals: Sequence[Journal], claims: Claims | None = None) -> list[JudgedClaim]:
    """Check claims against studies, source by source; by default those of the project."""
    studies = [results_of(journal) for journal in journals]
    found = [
        (source, claim, evidence(claim, source, studies))
        for source, some in (claims or read_claims()).by_source
        for claim in some
    ]
    parts = [_tests(claim, known) for _, claim, known in found]
    family = [part.question for some in parts for part in some]
    answers = iter(judge_all(family))
    tested = sum(math.isfinite(each.p_differs) for each in family)
    results = []
    for (source, claim, known), some in zip(found, parts, strict=True):
        if isinstance(known, JudgedClaim):
            results.append(known)
            continue
        verdicts = [next(answers).verdict for _ in some]
        word, reason = _decided(some, verdicts, tested) if some else (WORDS[0], known.worthless)
        study, ours = known.study, tuple(known.figures)
        doubt = study.soundness.status if study.soundness.warning else ""
        arms = {str(cell.get("arm")) for cell in claim.cells}
        differ = ", ".join(each.fact for each in build_differences_of(study.study, arms))
        results.append(JudgedClaim(claim, source, word, reason, ours, known.folder, doubt, differ))
    return results


def _tests(claim: Claim, known: Evidence | JudgedClaim) -> list[ClaimTest]:
    """The claim's hypotheses; none of a study whose figures do not count."""
    if isinstance(known, JudgedClaim) or known.worthless:
        return []
    return tests_of(claim, known.figures)


def _decided(
    parts: Sequence[ClaimTest], verdicts: Sequence[Verdict], among: int
) -> tuple[Word, str]:
    """The word that follows from the verdicts, and what it rests on."""
    outcomes = [part.outcome(verdict) for part, verdict in zip(parts, verdicts, strict=True)]
    decides = min(outcomes)
    if decides == 1 and [part.needed for part in parts] == ["above", "below"]:
        least, most = parts
        return WORDS[1], f"its whole interval is between {least.bound} and {most.bound}"
    reasons = [
        part.why(verdict, among)
        for part, verdict, outcome in zip(parts, verdicts, outcomes, strict=True)
        if outcome == decides
    ]
    return WORDS[decides], "; ".join(dict.fromkeys(reasons))


# --------------------------------------------------------------------------------------- as a table
# Judged claims as rows, for notebooks and other programs.


def table(judged: Sequence[JudgedClaim]) -> pd.DataFrame:
    """One row per claim, or one per figure where a claim names several.

    `ours` is the median of `what` over `n` blocks of the study in the folder `study`, in `unit`,
    with its bounds `low` and `high`; NaN and empty where the claim cannot be tested.
    `builds_differ` names other differences between the builds. `run` is the command that measures
    what is missing.
    """
    return pd.DataFrame([_row(each, ours) for each in judged for ours in each.ours or [None]])


def _row(each: JudgedClaim, ours: Figure | None) -> dict[str, object]:
    claim, found = each.claim, ours.estimate if ours else NO_VALUE
    return {
        "name": claim.name,
        "source": claim.source,
        "claim": claim.claim,
        "word": each.word,
        "theirs": claim.theirs,
        "ours": found.point,
        "low": found.low,
        "high": found.high,
        "n": found.n,
        "unit": found.unit,
        "what": ours.what if ours else "",
        "study": each.study,
        "builds_differ": each.builds_differ,
        "rule": claim.why,
        "reason": each.reason,
        "note": claim.note,
        "run": each.run,
    }


# ------------------------------------------------------------------------------------------ amounts
# Figures in the unit in which they are easily read: 4.2e-07 s as 420 ns.

# From the largest unit down: the first one of which there is at least one is taken.
READ_IN = {"s": ("s", "ms", "µs", "ns"), "B": ("MiB", "KiB", "B")}


def with_unit(value: Estimate) -> str:
    """An estimate with its interval or range and its unit: `1.21 (1.19–1.23) ×`; – for none."""
    if not value.n:
        return BLANK
    unit, times = _readable(value.point, value.unit)
    return f"{value.scaled(times, unit)!s} {unit}".strip()


def amount(value: float, unit: str) -> str:
    """A single number with its unit; of a ratio the number alone."""
    readable, times = _readable(value, unit)
    shown = "" if unit == RATIO else readable
    return f"{number(value * times)} {shown}".strip()


def _readable(value: float, unit: str) -> tuple[str, float]:
    """A unit for the value, and what to multiply it by."""
    known = {name: unit_factor(unit, name) or 1.0 for name in READ_IN.get(unit, (unit,))}
    *_, smallest = known
    name = next((name for name, times in known.items() if abs(value) * times >= 1), smallest)
    return name, known[name]
