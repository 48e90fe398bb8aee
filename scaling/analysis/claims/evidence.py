"""The figures that decide a claim, from one of the studies, or why there are none.

Of several studies with a claim's cells the one with the most blocks is used, the first of equals; a
void one comes last. A study counts only if its machine has the cores that the claim needs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scaling.analysis.claims.claim import Claim
from scaling.analysis.comparison.build_differences import build_differences_of
from scaling.analysis.controls import Soundness, soundness
from scaling.analysis.lookup.cells import AbsentCellError
from scaling.analysis.lookup.figure import Figure, find, results_of
from scaling.analysis.table.load import Journal
from scaling.base.errors import UsageError
from scaling.base.formats import plural
from scaling.journal.record import Machine


@dataclass(frozen=True, slots=True)
class CheckedStudy:
    """A journal with its controls judged, and the cores that its machine has for workers."""

    journal: Journal
    sound: Soundness
    cores: float

    @property
    def name(self) -> str:
        """The name of its folder, since several studies may have one name."""
        return self.journal.path.resolve().parent.name or self.journal.study.name

    @property
    def worthless(self) -> str:
        """Why none of its figures counts; empty if they do."""
        if self.journal.study.simulated:
            return "the study is simulated: nothing was measured"
        return "the study is void: its controls fail" if self.sound.status == "void" else ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The figures that decide a claim, from one study."""

    study: CheckedStudy
    figures: list[Figure]

    @property
    def rank(self) -> tuple[bool, int]:
        """The evidence with the highest rank is used."""
        return not self.study.worthless, min(each.estimate.n for each in self.figures)


@dataclass(frozen=True, slots=True)
class NoEvidence:
    """Why there are no figures; `run` is the command that would measure them, if any."""

    reason: str
    run: str = ""


def study_of(journal: Journal) -> CheckedStudy:
    """A journal with what judging a claim needs.

    Raises:
        UsageError: its frame holds several studies.
    """
    cores = cores_for_workers(journal.study.machine)
    return CheckedStudy(journal, soundness(journal.frame, journal.study), cores)


def cores_for_workers(machine: Machine) -> float:
    """How many workers can have a full core each, not an efficiency core; 0 if unknown."""
    full = machine.physical_cores and machine.physical_cores - (machine.efficiency_cpus or 0)
    return min(filter(None, (full, machine.usable_cpus, machine.cpu_quota)), default=0)


def evidence(claim: Claim, studies: Sequence[CheckedStudy]) -> Evidence | NoEvidence:
    """The best evidence that the studies have for a claim."""
    if claim.cannot:
        return NoEvidence(claim.cannot)
    if not studies:
        return NoEvidence("no study was given", claim.run)
    needed, most = claim.cores_needed, max(study.cores for study in studies)
    if most < needed:
        there = f"the machine has {most:g}" if most else "the number of cores is unknown"
        return NoEvidence(f"it takes {plural(needed, 'core')}; {there}")
    found: list[Evidence] = []
    missing: list[UsageError] = []
    for study in studies:
        if study.cores < needed:
            continue
        try:
            results = results_of(study.journal)
            found.append(Evidence(study, [find(results, name) for name in claim.figures]))
        except UsageError as error:
            missing.append(error)
    if found:
        return max(found, key=lambda each: each.rank)
    nearest = min(missing, key=_distance)
    reason = str(nearest)
    if math.isinf(_distance(nearest)):
        reason = f"no study here has the workload {claim.cells[0]['workload']}"
    return NoEvidence(f"not measured: {reason}", claim.run)


def builds_differ(claim: Claim, study: CheckedStudy) -> str:
    """What else the builds of a claim's arms differ in: `compiler, PGO`, or nothing."""
    arms = {str(cell.get("arm")) for cell in claim.cells}
    return ", ".join(each.fact for each in build_differences_of(study.journal.study, arms))


def _distance(error: UsageError) -> float:
    return error.distance if isinstance(error, AbsentCellError) else 0
