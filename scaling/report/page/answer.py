"""The first screen: the answer in a sentence, one picture, and the table of verdicts.

Below it, section by section, every question that the study answers.
"""

from collections.abc import Sequence

import matplotlib as mpl

from scaling.analysis.comparison.compare import Compared
from scaling.analysis.remedies import bases_of, remedies_in
from scaling.analysis.results import StudyResults
from scaling.analysis.served.ship import AppAnswer
from scaling.base import formats
from scaling.journal.record import StudyLine
from scaling.report.page.parts import Block, PageFigure
from scaling.report.page.picture import RC_OF_PAGES, Picture, picture
from scaling.report.plots.caption import machine_text
from scaling.report.plots.verdicts import draw
from scaling.report.remedies_view import notes
from scaling.report.tables.application import shipped_text
from scaling.report.tables.comparison import answers
from scaling.report.tables.findings import Finding, findings_table, in_words
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
from scaling.report.tables.load_headline import load_findings, load_sentence
from scaling.report.tables.margins import spread_text
from scaling.report.tables.phrases import named
from scaling.report.tables.questions.registry import QUESTIONS
from scaling.report.tables.rated import free_running, is_served, rated
from scaling.study.caveats import caveats

REACH = (
    "These ratios are of the operations of these workloads on this machine. They do not forecast "
    "what another program would gain."
)

REACH_OF_SERVERS = (
    "These ratios are of this server with this application under this load, on this machine. They "
    "do not forecast what another application would gain, and neither do ratios of loops alone."
)
NOTHING_UNDER_LOAD = (
    "No ratio: threads without the GIL are compared with processes, and one of them is missing. "
    "What each configuration gave is under “Latency under load”."
)

NO_HELP = "no remedy is proven to help"
NO_REMEDY = "No ratio: no block has valid runs of an arm both with a remedy and without it."


def answer_block(results: StudyResults) -> Block:
    """Sentence, picture, table; without an answer the sentence says so."""
    if results.is_of_remedies:
        return _of_remedies(results)
    if results.application and results.application.shipped:
        return _of_application(results, results.application)
    found = headlines(results)
    of_throughput = headline_findings(found) or [
        Finding(each.name, each.ratio) for each in other_ratios(results)
    ]
    of_load = load_findings(results)
    findings = [*of_throughput, *of_load]
    if not findings:
        return Block(words=[NOTHING_UNDER_LOAD if rated(results) else NOTHING])
    sentences = [headline_sentence(found) if found else ""]
    if of_throughput and not found:
        sentences = [others_sentence(of_throughput)]
    sentences.append(load_sentence(results))
    table = findings_table(findings, "Verdicts")
    served = any(is_served(each, results.study) for each in results.sections)
    return Block(
        words=[" ".join(filter(None, sentences))],
        figures=[
            PageFigure(
                _picture(findings, results, _what(of_throughput, of_load)), [table], is_open=True
            )
        ],
        notes=[REACH_OF_SERVERS if served else REACH, spread_text(results)],
    )


def _of_application(results: StudyResults, found: AppAnswer) -> Block:
    """What to ship for each aim; the next part of the page has the rest."""
    findings = [
        Finding(f"{each.measure}: {named(each.of)} over {named(each.over)}", each.ratio)
        for each in found.shipped
    ]
    ships = (f"{shipped_text(each)} for {each.measure}" for each in found.shipped)
    shown = PageFigure(
        _picture(findings, results, "threads to the best processes"),
        [findings_table(findings, "Verdicts")],
        is_open=True,
    )
    return Block(
        words=[f"What to ship with N = {found.workers}: {'; '.join(ships)}."],
        figures=[shown],
        notes=[REACH_OF_SERVERS, spread_text(results)],
    )


def _of_remedies(results: StudyResults) -> Block:
    """What each remedy brings, the best first, and which are proven to help."""
    found = remedies_in(results, bases_of(results))
    factors = found.throughput()
    if not factors:
        return Block(words=[NO_REMEDY])
    where = {f"{each.subject}, {named(each.over)}" for each in factors}
    findings = [
        Finding(
            " ".join(
                [
                    *([f"{each.subject}, {named(each.over)}:"] if len(where) > 1 else []),
                    f"+{'+'.join(each.added)}",
                    *(["(control)"] if each.is_control else []),
                ]
            ),
            each.ratio,
        )
        for each in factors
    ]
    helps = [
        f"{each.question} {in_words(each.ratio)}"
        for each in findings
        if each.ratio.verdict.side > 0
    ]
    most = f"throughput is higher with {formats.listed(helps)}" if helps else NO_HELP
    sentence = f"{where.pop() if len(where) == 1 else f'N = {found.headline_n}'}: {most}."
    shown = PageFigure(
        _picture(findings, results, "throughput"),
        [findings_table(findings, "Verdicts")],
        is_open=True,
    )
    return Block(words=[sentence], figures=[shown], notes=[*notes(found), spread_text(results)])


def _what(of_throughput: Sequence[Finding], of_load: Sequence[Finding]) -> str:
    """What the ratios of the picture are of."""
    under_load = "capacity and P99 latency under load"
    if not of_load:
        return "throughput"
    return f"throughput, {under_load}" if of_throughput else under_load


def _picture(findings: Sequence[Finding], results: StudyResults, what: str) -> Picture:
    with mpl.rc_context(RC_OF_PAGES):
        study = results.study
        words = (results.soundness.warning, *caveats(study), machine_text(study))
        caption = " · ".join(filter(None, words))
        return picture(draw(findings, caption, what), "answer-verdicts")


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
