"""What a module of this folder gives: the tables of one question, and its rows in the answer."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from scaling.analysis.comparison import Compared
from scaling.analysis.ratios import Ratio, Ratios
from scaling.analysis.table.columns import MEASURES
from scaling.analysis.table.run_fields import readable
from scaling.journal.record import Cell as CellOfStudy
from scaling.report.tables.findings import Finding, stacked
from scaling.report.tables.grid import Cell, Grid, PagePart
from scaling.study.questions import CPU, MEMORY, P99, THROUGHPUT


@dataclass(frozen=True, slots=True)
class Question:
    """`part` is the part of the page that shows the tables. There are no `grids` where the answer
    says it all, and no `findings` where there is no ratio, or too many for an answer.
    """

    part: PagePart
    grids: Callable[[Compared], list[Grid]] = lambda _: []
    findings: Callable[[Compared], list[Finding]] = lambda _: []


# ---------------------------------------------------------------------------------------- contrasts
# Rows and findings of one configuration over another, which several questions show.

HEADINGS = {THROUGHPUT: "throughput", CPU: "CPU per op", P99: "P99", MEMORY: "memory"}
FIRST = (THROUGHPUT, CPU)  # in every table of closed loops


def of_and_over(each: Ratio) -> tuple[str, ...]:
    """Both cells, for a column each."""
    return stacked(each.of), stacked(each.over)


def contrast_grids(
    title: str,
    found: Ratios,
    heads: Sequence[str],
    words: Callable[[Ratio], Iterable[str]] = of_and_over,
    *,
    first: Iterable[str] = FIRST,
    note: str = "",
) -> list[Grid]:
    """A table with a row for each two cells that a question compares; none without a ratio.

    A row has N, its `words` under `heads`, and a ratio for each measure: `first`, and whatever else
    the ratios are of.
    """
    rows: dict[tuple[str, CellOfStudy, CellOfStudy], dict[str, Ratio]] = {}
    for each in found:
        rows.setdefault((each.question, each.of, each.over), {})[each.asked_measure] = each
    measures = list(dict.fromkeys([*first, *(each.asked_measure for each in found)]))
    cells: list[list[Cell]] = [
        [str(of.workers), *words(next(iter(row.values()))), *(row.get(m, "") for m in measures)]
        for (_, of, _), row in rows.items()
    ]
    headings = ["N", *heads, *map(heading, measures)]
    return [Grid(title, headings, cells, 1 + len(heads), note)] if cells else []


def heading(measure: str) -> str:
    """What the column of a measure is called."""
    declared = MEASURES.get(measure)
    return HEADINGS.get(measure) or (declared and declared.words) or readable(measure)


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
