"""Claims judged: each with its word, the figures that decide, and the reason.

No study names claims as its primary hypotheses, so the tests of all claims are one exploratory
family: of the claims with the verdict holds or does not hold, at most 5 % are expected to be wrong.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from scaling.analysis.claims.claim import Claim, Claims, Source
from scaling.analysis.claims.evidence import Evidence, NoEvidence, builds_differ, evidence, study_of
from scaling.analysis.claims.reading import read_claims
from scaling.analysis.claims.rules import ClaimTest, tests_of
from scaling.analysis.lookup.figure import Figure
from scaling.analysis.statistics.verdict import Verdict
from scaling.analysis.statistics.verdict import judge as judge_all
from scaling.analysis.table.load import Journal

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


def judge(journals: Sequence[Journal], claims: Claims | None = None) -> list[JudgedClaim]:
    """Check claims against studies, source by source; by default those that come with the project.

    Raises:
        UsageError: a journal's frame holds several studies.
    """
    studies = [study_of(journal) for journal in journals]
    listed = (claims or read_claims()).by_source
    found = [(source, claim, evidence(claim, studies)) for source, some in listed for claim in some]
    parts = [_tests(claim, known) for _, claim, known in found]
    family = [part.question for some in parts for part in some]
    answers = iter(judge_all(family))
    tested = sum(math.isfinite(each.p_differs) for each in family)
    results = []
    for (source, claim, known), some in zip(found, parts, strict=True):
        if isinstance(known, NoEvidence):
            results.append(JudgedClaim(claim, source, UNTESTED, known.reason, run=known.run))
            continue
        verdicts = [next(answers).verdict for _ in some]
        word, reason = (
            _decided(some, verdicts, tested) if some else (WORDS[0], known.study.worthless)
        )
        study, ours = known.study, tuple(known.figures)
        doubt = study.sound.status if study.sound.warning else ""
        differ = builds_differ(claim, study)
        results.append(JudgedClaim(claim, source, word, reason, ours, study.name, doubt, differ))
    return results


def _tests(claim: Claim, known: Evidence | NoEvidence) -> list[ClaimTest]:
    """The claim's hypotheses; none of a study whose figures do not count."""
    if isinstance(known, NoEvidence) or known.study.worthless:
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
