"""Each loop over asyncio, everything else equal."""

from scaling.analysis.comparison.compare import Compared
from scaling.analysis.ratios import Ratio
from scaling.builds.version_arms import free_arms
from scaling.journal.record import StudyLine
from scaling.report.tables.findings import Finding
from scaling.report.tables.grid import Grid
from scaling.report.tables.phrases import named, stacked
from scaling.report.tables.questions.contrasts import (
    at_headline_n,
    contrast_findings,
    contrast_headings,
    contrast_rows,
)
from scaling.report.tables.questions.question import Question
from scaling.study.questions import THROUGHPUT

OTHER_LIBRARIES = ("trio", "anyio")  # than asyncio, as the names of their loops begin
ANOTHER_LIBRARY = (
    "With trio or anyio the program is written for that library: the ratio is of both, library and "
    "loop."
)


def _grids(compared: Compared, study: StudyLine) -> list[Grid]:
    del study
    found = compared.ratios.where("loop")
    rows = contrast_rows(found, lambda each: (each.of.loop, stacked(each.of)))
    headings = ["N", "loop", "on", *contrast_headings(found)]
    elsewhere = any(each.of.loop.startswith(OTHER_LIBRARIES) for each in found)
    note = ANOTHER_LIBRARY if elsewhere else ""
    return [Grid("What the loop changed: over asyncio", headings, rows, 3, note)] if rows else []


def _findings(compared: Compared) -> list[Finding]:
    """For each loop, threads without the GIL where there are any, else the first arm and model;
    the choice does not look at figures.
    """
    free = free_arms(compared.arms)
    ratios = compared.ratios.where("loop")
    throughput = list(ratios.where(measure=THROUGHPUT))

    def is_subject(each: Ratio) -> bool:
        return each.of.arm in free and each.of.model == "threads"

    found: list[Finding] = []
    for loop in dict.fromkeys(each.of.loop for each in throughput):
        here = [each for each in throughput if each.of.loop == loop]
        chosen = max(at_headline_n(here, compared.headline_n), key=is_subject)
        question = f"{named(chosen.of, loop=True)} over {chosen.over.loop}"
        found += contrast_findings(question, ratios, chosen)
    return found


QUESTION = Question("loops", _grids, _findings)
