"""Claims judged: each with its word, the figures that decide, and the reason.

No study names claims as its primary hypotheses, so the tests of all claims are one exploratory
family: of the claims with the verdict holds or does not hold, at most 5 % are expected to be wrong.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from scaling.analysis.claims.claim import Claim, Claims, Source
from scaling.analysis.claims.reading import read_claims
from scaling.analysis.claims.rules import ClaimTest, tests_of
from scaling.analysis.comparison.build_differences import build_differences_of
from scaling.analysis.lookup.cells import AbsentCellError
from scaling.analysis.lookup.figure import Figure, find, results_of
from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.estimate import median
from scaling.analysis.statistics.verdict import Verdict
from scaling.analysis.statistics.verdict import judge as judge_all
from scaling.analysis.table.load import Journal
from scaling.base.errors import UsageError
from scaling.base.formats import plural
from scaling.journal.record import Machine

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

NO_FIGURE = median((), "")


def table(judged: Sequence[JudgedClaim]) -> pd.DataFrame:
    """One row per claim, or one per figure where a claim names several.

    `ours` is the median of `what` over `n` blocks of the study in the folder `study`, in `unit`,
    with its bounds `low` and `high`; NaN and empty where the claim cannot be tested.
    `builds_differ` names other differences between the builds. `run` is the command that measures
    what is missing.
    """
    return pd.DataFrame([_row(each, ours) for each in judged for ours in each.ours or [None]])


def _row(each: JudgedClaim, ours: Figure | None) -> dict[str, object]:
    claim, found = each.claim, ours.estimate if ours else NO_FIGURE
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
