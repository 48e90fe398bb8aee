"""What studies have to say on a claim: its figures from one of them, or why there are none.

Of several studies that have a claim's cells the one with the most blocks tells, but one that its
controls make void comes last; of equals it is the first. A study counts only where its machine has
the cores that the claim takes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scaling.analysis.claims.claim import Claim
from scaling.analysis.claims.rules import figures_of
from scaling.analysis.comparison.build_differences import build_differences_of
from scaling.analysis.controls import Soundness, soundness
from scaling.analysis.lookup.figure import Figure
from scaling.analysis.lookup.named_cell import AbsentCellError
from scaling.analysis.table.load import Journal
from scaling.base.errors import UsageError
from scaling.base.formats import plural
from scaling.journal.record import Machine


@dataclass(frozen=True, slots=True)
class CheckedStudy:
    """A journal, what its controls say, and how many cores its machine has for workers."""

    journal: Journal
    sound: Soundness
    cores: float

    @property
    def name(self) -> str:
        """That of its folder: several studies may have been given one name."""
        return self.journal.path.resolve().parent.name or self.journal.study.name

    @property
    def is_void(self) -> bool:
        """Whether nothing of it can be believed."""
        return self.sound.status == "void"


@dataclass(frozen=True, slots=True)
class Evidence:
    """The figures that decide a claim, from one study."""

    study: CheckedStudy
    figures: list[Figure]

    @property
    def rank(self) -> tuple[bool, int]:
        """Of several the highest is taken."""
        return not self.study.is_void, min(each.estimate.n for each in self.figures)


@dataclass(frozen=True, slots=True)
class NoEvidence:
    """Why there are no figures; where they only have to be measured, `run` does that."""

    reason: str
    run: str = ""


def study_of(journal: Journal) -> CheckedStudy:
    """A journal with what has to be known of it.

    Raises:
        UsageError: its frame holds several studies.
    """
    cores = cores_for_workers(journal.study.machine)
    return CheckedStudy(journal, soundness(journal.frame, journal.study), cores)


def cores_for_workers(machine: Machine) -> float:
    """How many workers can have a core each, and not an efficiency core; 0 where nobody knows."""
    full = machine.physical_cores and machine.physical_cores - (machine.efficiency_cpus or 0)
    return min(filter(None, (full, machine.usable_cpus, machine.cpu_quota)), default=0)


def evidence(claim: Claim, studies: Sequence[CheckedStudy]) -> Evidence | NoEvidence:
    """The best that the studies have for a claim."""
    if claim.cannot:
        return NoEvidence(claim.cannot)
    if not studies:
        return NoEvidence("no study was given", claim.run)
    needed, most = claim.cores_needed, max(study.cores for study in studies)
    if most < needed:
        there = f"the machine has {most:g}" if most else "how many there are is not known"
        return NoEvidence(f"it takes {plural(needed, 'core')}; {there}")
    found: list[Evidence] = []
    missing: list[UsageError] = []
    for study in studies:
        if study.cores < needed:
            continue
        try:
            found.append(Evidence(study, figures_of(claim, study.journal)))
        except UsageError as error:
            missing.append(error)
    if found:
        return max(found, key=lambda each: each.rank)
    nearest = min(missing, key=_distance)
    reason = str(nearest)
    if math.isinf(_distance(nearest)):
        reason = f"no study here has the workload {(claim.cell or {}).get('workload')}"
    return NoEvidence(f"not measured: {reason}", claim.run)


def builds_differ(claim: Claim, study: CheckedStudy) -> str:
    """In what the builds of a claim's arms differ and should not: `compiler, PGO`, or nothing."""
    arms = {str(cell.get("arm")) for cell in claim.cells}
    return ", ".join(each.fact for each in build_differences_of(study.journal.study, arms))


def _distance(error: UsageError) -> float:
    return error.distance if isinstance(error, AbsentCellError) else 0
