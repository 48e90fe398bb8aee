"""From how many threads without the GIL on they beat the best single worker with it."""

from scaling.analysis.comparison.break_even import BreakEven, break_evens
from scaling.analysis.comparison.compare import Compared
from scaling.base import formats
from scaling.journal.record import StudyLine
from scaling.report.tables.findings import Finding
from scaling.report.tables.grid import Cell, Grid
from scaling.report.tables.phrases import named
from scaling.report.tables.questions.question import Question


def _grids(compared: Compared, study: StudyLine) -> list[Grid]:
    del study
    return [_grid(each) for each in break_evens(compared)]


def _grid(found: BreakEven) -> Grid:
    rows: list[list[Cell]] = [[str(each.of.workers), each] for each in found.ratios]
    first = found.ratios[0]
    single = f"{first.over.arm} ({first.over.model})"
    return Grid(f"Threads on {first.of.arm} over one worker on {single}", ["N", "throughput"], rows)


def _findings(compared: Compared) -> list[Finding]:
    return [_finding(each) for each in break_evens(compared)]


def _finding(found: BreakEven) -> Finding:
    ratio = found.at or found.ratios[-1]
    question = f"{named(ratio.of)} over {named(ratio.over)} (break-even)"
    return Finding(question, ratio, break_even_note(found))


def break_even_note(found: BreakEven) -> str:
    """What is known of the N from which on threads are faster."""
    last = found.ratios[-1].of.workers
    few = all(each.coverage is None for each in found.ratios)
    if found.at is None:
        if found.outcome == "never":
            return f"Break-even: not reached up to N = {last}."
        ns = "" if few else f" at N = {formats.listed(found.undecided)}"
        return f"Break-even: inconclusive up to N = {last}{ns and ', undecided'}{ns}."
    at = found.at.of.workers
    after = {each.of.workers: each.verdict.word for each in found.ratios if each.of.workers > at}
    by_word = {
        word: [n for n, each in after.items() if each == word]
        for word in ("slower", "same", "inconclusive")
    }
    besides = [f"at N = {formats.listed(ns)} {word}" for word, ns in by_word.items() if ns]
    return f"Break-even: {', '.join([f'at N = {at}', *besides])}."


QUESTION = Question("processes", _grids, _findings)
