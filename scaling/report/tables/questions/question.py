"""What a module of this folder gives: the tables of one question, and its rows in the answer."""

from collections.abc import Callable
from dataclasses import dataclass

from scaling.analysis.comparison.compare import Compared
from scaling.journal.record import StudyLine
from scaling.report.tables.findings import Finding
from scaling.report.tables.grid import Grid, PagePart


def no_tables(compared: Compared, study: StudyLine) -> list[Grid]:
    """Of a question whose answer says it all."""
    del compared, study
    return []


def no_findings(compared: Compared) -> list[Finding]:
    """Of a question that has no ratio, or too many for an answer."""
    del compared
    return []


@dataclass(frozen=True, slots=True)
class Question:
    """`part` is the part of the page that shows the tables; both lists are empty where there is
    nothing to show.
    """

    part: PagePart
    grids: Callable[[Compared, StudyLine], list[Grid]] = no_tables
    findings: Callable[[Compared], list[Finding]] = no_findings
