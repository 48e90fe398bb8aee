"""The first screen: the answer in a sentence, one picture, and the table of verdicts.

Below it every other question that the study answers, a table for each.
"""

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from scaling.analysis.results import StudyResults
from scaling.analysis.served.ship import AppAnswer
from scaling.analysis.statistics.verdict import RatioVerdict
from scaling.report.application import ship_grid, shipped_text
from scaling.report.page.figures import PARTS
from scaling.report.page.parts import Block, PageFigure, Picture, picture
from scaling.report.plots.verdicts import draw
from scaling.report.tables.comparison import QUESTIONS, answers, question_grids, states
from scaling.report.tables.findings import Finding, findings_table, named, ratios_note
from scaling.report.tables.grid import Grid, PagePart
from scaling.report.tables.headline import (
    NOTHING,
    headline_findings,
    headline_sentence,
    headlines,
    load_findings,
    load_sentence,
    name_of,
    other_ratios,
    others_sentence,
)
from scaling.report.tables.measures import again
from scaling.report.tables.notes import machine_text, margins, spread_text, turns_text
from scaling.report.tables.rates import free_running, is_served, rated

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


def answer_block(results: StudyResults) -> tuple[Block, list[Finding]]:
    """Sentence, picture and table, and the findings in them; without any the sentence says so."""
    if results.application and results.application.shipped:
        return _of_application(results, results.application)
    found, of_load = headlines(results), load_findings(results)
    of_throughput = headline_findings(found) or [
        Finding(each.name, each.ratio) for each in other_ratios(results)
    ]
    findings = [*of_throughput, *of_load]
    if not findings:
        return Block(words=[NOTHING_UNDER_LOAD if rated(results) else NOTHING]), []
    said = headline_sentence(found) if found else others_sentence(of_throughput)
    table = findings_table(findings, "Verdicts", [ratios_note([each.ratio for each in findings])])
    served = any(is_served(each.curves[0].key, results.study) for each in results.sections)
    shown = PageFigure(
        _picture(findings, results, _what(of_throughput, of_load)), [table], is_open=True
    )
    block = Block(
        words=[" ".join(filter(None, (said, load_sentence(results))))],
        figures=[shown],
        notes=[REACH_OF_SERVERS if served else REACH, spread_text(results), *_states(results)],
    )
    return block, findings


def _states(results: StudyResults) -> Iterator[str]:
    """The ratios across allocator states, of each workload and loop."""
    for each in free_running(results):
        yield from (f"{each.title}: {text}" for text in states(each))


def _of_application(results: StudyResults, found: AppAnswer) -> tuple[Block, list[Finding]]:
    """What to ship for each aim; the next part of the page has the rest."""
    findings = [
        Finding(f"{each.measure}: {named(each.ratio.of)} over {named(each.ratio.over)}", each.ratio)
        for each in found.shipped
    ]
    ships = (f"{shipped_text(each)} for {each.measure}" for each in found.shipped)
    shown = PageFigure(
        _picture(findings, results, "threads to the best processes"),
        [ship_grid(found)],
        is_open=True,
    )
    block = Block(
        words=[f"What to ship with N = {found.workers}: {'; '.join(ships)}."],
        figures=[shown],
        notes=[REACH_OF_SERVERS, spread_text(results)],
    )
    return block, findings


def _what(of_throughput: Sequence[Finding], of_load: Sequence[Finding]) -> str:
    """What the ratios of the picture are of."""
    under_load = "capacity and P99 latency under load"
    if not of_load:
        return "throughput"
    return f"throughput, {under_load}" if of_throughput else under_load


def _picture(findings: Sequence[Finding], results: StudyResults, what: str) -> Picture:
    words = (results.soundness.warning, *results.caveats, machine_text(results.study.machine))
    caption = " · ".join(filter(None, words))
    return picture(partial(draw, findings, caption, what), "answer-verdicts")


def questions_block(results: StudyResults, answer: Iterable[Finding]) -> Block:
    """A table for each question, with a row for each workload and loop. What the `answer` has is
    not said again.
    """
    answered = {_figures(each.ratio) for each in answer}
    asked: dict[PagePart, list[Finding]] = defaultdict(list)
    notes: dict[str, list[str]] = defaultdict(list)  # each with the workloads that it is of
    for compared in (each for each in free_running(results) if not each.is_across_loops):
        label = name_of(compared)
        own = [
            (question.part, replace(finding, label=label))
            for question in QUESTIONS
            for finding in _beside(answered, question.findings(compared))
        ]
        for part, finding in own:
            asked[part].append(finding)
        points = [point for curve in compared.curves for point in curve.points]
        said = [*(each.note for _, each in own), *margins(compared.ratios), *again(points)]
        said.append(turns_text(compared.ratios))
        for note in filter(None, said if own else []):
            notes[note].append(label)
    labels = {each.label for found in asked.values() for each in found}
    return Block(
        grids=[_question_grid(PARTS[part][0], asked[part]) for part in PARTS if asked[part]],
        notes=[
            note if len(own) == len(labels) else f"{'; '.join(dict.fromkeys(own))}: {note}"
            for note, own in notes.items()
        ],
    )


def _beside(answered: Container[tuple[float, ...]], found: Iterable[Finding]) -> Iterator[Finding]:
    """The findings that the answer does not have; one that belongs to a row which it has says so in
    full.
    """
    above = ""
    for each in found:
        is_told = _figures(each.ratio) in answered
        if each.is_throughput:
            above = each.question.partition(" (the better of")[0] if is_told else ""
        if each.ratio.n and not is_told:
            in_full = each.question.replace("…", f"{above}:", 1)
            yield replace(each, question=in_full) if above else each


def _figures(ratio: RatioVerdict) -> tuple[float, ...]:
    """Median and bounds, by which it is known again."""
    return ratio.point, ratio.low, ratio.high


def _question_grid(title: str, asked: Sequence[Finding]) -> Grid:
    """All rows have a ratio, so that none is left out."""
    found = [replace(each, note="", label="") for each in asked]
    grid = findings_table(found, title, [ratios_note([each.ratio for each in found])])
    rows = [[each.label, *row] for each, row in zip(asked, grid.rows, strict=True)]
    return replace(grid, headings=["workload", *grid.headings], rows=rows, words=2)


def loop_blocks(results: StudyResults) -> list[Block]:
    """Loops over asyncio and other runtimes over Python, for each section that has any."""
    return [
        Block(each.title, grids=[*answers(each), *question_grids(each)])
        for each in free_running(results)
        if each.is_across_loops
    ]
