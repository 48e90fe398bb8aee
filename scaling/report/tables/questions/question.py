"""What a module of this folder gives: the tables of one question, and its rows in the answer."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from scaling.analysis.comparison.compare import Compared
from scaling.analysis.ratios import Ratio, Ratios
from scaling.analysis.table.columns import MEASURES
from scaling.analysis.table.run_fields import readable
from scaling.journal.record import Cell as CellOfStudy
from scaling.journal.record import StudyLine
from scaling.report.tables.findings import Finding, named
from scaling.report.tables.grid import Cell, Grid, PagePart
from scaling.study.questions import CPU, MEMORY, P99, THROUGHPUT


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


# ---------------------------------------------------------------------------------------- contrasts
# Rows and findings of one configuration over another, which several questions show.

HEADINGS = {THROUGHPUT: "throughput", CPU: "CPU per op", P99: "P99", MEMORY: "memory"}
FIRST = (THROUGHPUT, CPU)  # in every table of closed loops


def contrast_headings(found: Ratios, first: Iterable[str] = FIRST) -> list[str]:
    """The headings of the last columns: one for each measure that the ratios are of."""
    return [_heading(each) for each in _measures(found, first)]


def contrast_rows(
    found: Ratios, words: Callable[[Ratio], Iterable[str]], first: Iterable[str] = FIRST
) -> list[list[Cell]]:
    """A row for each two cells that a question compares: N, its `words`, a ratio for each measure.

    The measures are `first`, and whatever else the ratios are of.
    """
    rows: dict[tuple[str, CellOfStudy, CellOfStudy], dict[str, Ratio]] = {}
    for each in found:
        rows.setdefault((each.question, each.of, each.over), {})[each.asked_measure] = each
    measures = _measures(found, first)
    return [
        [str(of.workers), *words(next(iter(row.values()))), *(row.get(m, "") for m in measures)]
        for (_, of, _), row in rows.items()
    ]


def _measures(found: Ratios, first: Iterable[str]) -> list[str]:
    return list(dict.fromkeys([*first, *(each.asked_measure for each in found)]))


def _heading(measure: str) -> str:
    declared = MEASURES.get(measure)
    return HEADINGS.get(measure) or (declared and declared.words) or readable(measure)


def headline_findings(found: Ratios) -> list[Finding]:
    """What each question is about first; of a measure besides throughput with its name."""
    return [
        Finding(
            f"{'' if each.measure == THROUGHPUT else f'{_heading(each.asked_measure)} of '}"
            f"{named(each.of)} over {named(each.over)}",
            each,
        )
        for each in found
        if each.is_headline
    ]


def contrast_findings(question: str, found: Ratios, ratio: Ratio) -> list[Finding]:
    """The throughput answers the question; CPU time follows it."""
    cpu = found.same(ratio, CPU)
    follows = [Finding("… CPU time per operation", cpu)] if cpu else []
    return [Finding(question, ratio), *follows]


def at_headline_n(found: list[Ratio], n: int) -> list[Ratio]:
    """Those at the largest N up to `n`, or else at the smallest."""
    ns = [each.of.workers for each in found]
    at = max((each for each in ns if each <= n), default=min(ns))
    return [each for each in found if each.of.workers == at]
