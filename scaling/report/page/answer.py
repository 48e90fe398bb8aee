"""The first screen: the answer in a sentence, one picture, and the table of verdicts.

Below it, section by section, every question that the study answers.
"""

from collections.abc import Sequence

import matplotlib as mpl

from scaling.analysis.comparison.compare import Compared
from scaling.analysis.results import StudyResults
from scaling.journal.record import StudyLine
from scaling.report.page.parts import Block, PageFigure
from scaling.report.page.picture import RC_OF_PAGES, Picture, picture
from scaling.report.plots.caption import machine_text
from scaling.report.plots.verdicts import draw
from scaling.report.tables.comparison import answers
from scaling.report.tables.findings import Finding, findings_table
from scaling.report.tables.grid import Grid
from scaling.report.tables.headline import (
    NOTHING,
    headline_findings,
    headline_sentence,
    headlines,
    is_control,
    other_ratios,
    others_sentence,
)
from scaling.report.tables.margins import spread_text
from scaling.report.tables.questions.registry import QUESTIONS
from scaling.report.tables.rated import free_running

REACH = (
    "These ratios are of the operations of these workloads on this machine. They do not forecast "
    "what another program would gain."
)


def answer_block(results: StudyResults) -> Block:
    """Sentence, picture, table; without an answer the sentence says so."""
    found = headlines(results)
    findings = headline_findings(found) or [
        Finding(each.name, each.ratio) for each in other_ratios(results)
    ]
    if not findings:
        return Block(words=[NOTHING])
    table = findings_table(findings, "Verdicts")
    return Block(
        words=[headline_sentence(found) if found else others_sentence(findings)],
        figures=[PageFigure(_picture(findings, results), [table], is_open=True)],
        notes=[REACH, spread_text(results)],
    )


def _picture(findings: Sequence[Finding], results: StudyResults) -> Picture:
    with mpl.rc_context(RC_OF_PAGES):
        caption = " · ".join(filter(None, (results.soundness.warning, machine_text(results.study))))
        return picture(draw(findings, caption), "answer-verdicts")


def question_blocks(results: StudyResults) -> list[Block]:
    """The answers of each workload and loop, controls last."""
    found = [each for each in free_running(results) if not each.is_across_loops]
    return [Block(each.runs.title, grids=answers(each)) for each in sorted(found, key=is_control)]


def loop_blocks(results: StudyResults) -> list[Block]:
    """Loops over asyncio and other runtimes over Python, for each section that has any."""
    return [
        Block(each.runs.title, grids=[*answers(each), *_tables(each, results.study)])
        for each in free_running(results)
        if each.is_across_loops
    ]


def _tables(compared: Compared, study: StudyLine) -> list[Grid]:
    return [grid for question in QUESTIONS for grid in question.grids(compared, study)]
