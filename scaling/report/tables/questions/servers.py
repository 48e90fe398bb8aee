"""One cache of all threads over as many processes that share a server."""

from scaling.analysis.comparison.compare import Compared
from scaling.analysis.ratios import Ratio
from scaling.journal.record import StudyLine
from scaling.report.tables.findings import Finding
from scaling.report.tables.grid import Cell, Grid
from scaling.report.tables.phrases import named, stacked
from scaling.report.tables.questions.contrasts import HEADINGS, at_headline_n
from scaling.report.tables.questions.question import Question
from scaling.study.questions import CACHE, CPU, CPU_OF_ALL, OVER_SERVER, THROUGHPUT

NOTE = "CPU time is that of all parts: workers, server, and database where there is one."


def _grids(compared: Compared, study: StudyLine) -> list[Grid]:
    del study
    found = compared.ratios.where(OVER_SERVER)
    rows: list[list[Cell]] = [
        [
            str(each.of.workers),
            f"{each.of.parameters[CACHE]}\n{stacked(each.of)}",
            f"{each.over.parameters[CACHE]}\n{stacked(each.over)}",
            each,
            found.same(each, CPU_OF_ALL) or _of_all(compared, each) or "",
        ]
        for each in found.where(measure=THROUGHPUT)
    ]
    title = "One cache for all threads over processes with a server"
    return (
        [
            Grid(
                title,
                ["N", "of", "over", *(HEADINGS[each] for each in (THROUGHPUT, CPU))],
                rows,
                3,
                NOTE,
            )
        ]
        if rows
        else []
    )


def _of_all(compared: Compared, ratio: Ratio) -> Ratio | None:
    """That of CPU time, where other processes need least of it than do most."""
    found = compared.ratios.where(OVER_SERVER, CPU_OF_ALL, lambda each: each.of == ratio.of)
    return next(iter(found), None)


def _findings(compared: Compared) -> list[Finding]:
    every = list(compared.ratios.where(OVER_SERVER, CPU_OF_ALL))
    if not every:
        return []
    return [
        Finding(
            f"{each.of.parameters[CACHE]} of {named(each.of)} over {each.over.parameters[CACHE]} "
            f"with {named(each.over)}: CPU time of all parts",
            each,
        )
        for each in at_headline_n(every, compared.headline_n)
    ]


QUESTION = Question("processes", _grids, _findings)
