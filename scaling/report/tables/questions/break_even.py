"""From how many threads without the GIL on they beat the best single worker with it."""

from scaling.analysis.comparison.break_even import BreakEven
from scaling.analysis.comparison.compare import Compared
from scaling.analysis.comparison.paired import Configuration
from scaling.base import formats
from scaling.journal.record import StudyLine
from scaling.report.tables.findings import Finding
from scaling.report.tables.grid import Cell, Grid
from scaling.report.tables.phrases import named
from scaling.report.tables.questions.question import Question


def _grids(compared: Compared, study: StudyLine) -> list[Grid]:
    del study
    return [_grid(each) for each in compared.break_evens]


def _grid(found: BreakEven) -> Grid:
    rows: list[list[Cell]] = [[str(n), ratio] for n, ratio in found.ratios.items()]
    title = f"Threads on {found.arm} over one worker on {found.single.arm} ({found.single.model})"
    return Grid(title, ["N", "throughput"], rows)


def _findings(compared: Compared) -> list[Finding]:
    return [_finding(each) for each in compared.break_evens]


def _finding(found: BreakEven) -> Finding:
    n = found.at if found.at is not None else max(found.ratios)
    threads = named(Configuration(found.arm, "threads", n))
    return Finding(
        f"{threads} over {named(found.single)} (break-even)",
        found.ratios[n],
        break_even_note(found),
    )


def break_even_note(found: BreakEven) -> str:
    """What is known of the N from which on threads are faster."""
    last = max(found.ratios)
    few = all(ratio.coverage is None for ratio in found.ratios.values())
    if found.at is None:
        if found.outcome == "never":
            return f"Break-even: not reached up to N = {last}."
        ns = "" if few else f" at N = {formats.listed(found.undecided)}"
        return f"Break-even: inconclusive up to N = {last}{ns and ', undecided'}{ns}."
    after = {n: ratio.verdict.word for n, ratio in found.ratios.items() if n > found.at}
    by_word = {
        word: [n for n, each in after.items() if each == word]
        for word in ("slower", "same", "inconclusive")
    }
    besides = [f"at N = {formats.listed(ns)} {word}" for word, ns in by_word.items() if ns]
    return f"Break-even: {', '.join([f'at N = {found.at}', *besides])}."


QUESTION = Question("processes", _grids, _findings)
