"""Each runtime that is not Python over one that is."""

from scaling.analysis.comparison.compare import Compared
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

ANOTHER_RUNTIME = (
    "Runtimes differ in everything (language, compiler, scheduler, memory), and each has a program "
    "of its own for the same work: no ratio is of one thing alone. Their CPU time is that of the "
    "whole process; of Python it is that of the workers' threads."
)


def _grids(compared: Compared, study: StudyLine) -> list[Grid]:
    del study
    found = compared.ratios.where("runtime")
    rows = contrast_rows(
        found, lambda each: (each.of.arm, f"{stacked(each.over)}\n{each.over.loop}")
    )
    headings = ["N", "runtime", "over", *contrast_headings(found)]
    title = "Other runtimes over Python"
    return [Grid(title, headings, rows, 3, ANOTHER_RUNTIME)] if rows else []


def _findings(compared: Compared) -> list[Finding]:
    ratios = compared.ratios.where("runtime")
    throughput = list(ratios.where(measure=THROUGHPUT))
    found: list[Finding] = []
    for arm in dict.fromkeys(each.of.arm for each in throughput):
        here = [each for each in throughput if each.of.arm == arm]
        for each in at_headline_n(here, compared.headline_n):
            question = f"{arm} at N = {each.of.workers} over {named(each.over, loop=True)}"
            found += contrast_findings(question, ratios, each)
    return found


QUESTION = Question("runtimes", _grids, _findings)
