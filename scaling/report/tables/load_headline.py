"""The answer of a study in an open loop: a sentence, and a row for each workload."""

from collections.abc import Iterator

from scaling.analysis.ratios import Ratio
from scaling.analysis.results import StudyResults
from scaling.analysis.served.capacity import Capacity
from scaling.analysis.served.capacity_table import over_processes
from scaling.base import formats
from scaling.report.tables.findings import Finding, in_words
from scaling.report.tables.phrases import named
from scaling.report.tables.rated import Rated, rated
from scaling.study.load import RATE

MS_PER_S = 1e3


def load_findings(results: StudyResults) -> list[Finding]:
    """Threads over processes at the headline N: capacity, or P99 at the middle rate."""
    return [finding for each in rated(results) for finding in _findings(each, results)]


def _findings(each: Rated, results: StudyResults) -> Iterator[Finding]:
    for of, ratio in _capacities(each, results):
        over = f"{named(ratio.of)} over {named(ratio.over)}"
        yield Finding(f"{each.label}: capacity at {of.objective.text}, {over}", ratio)
    for p99 in _latencies(each):
        asked = _asked(each)
        yield Finding(f"{each.label}: P99 {asked}, {named(p99.of)} over {named(p99.over)}", p99)


def load_sentence(results: StudyResults) -> str:
    """What is known of the first workload, in words; empty where nothing was compared."""
    for each in rated(results):
        for of, ratio in _capacities(each, results):
            return (
                f"{each.label}: {named(of.cell)} keep {of.objective.text} up to {of.text}. Over "
                f"{named(ratio.over)}: {in_words(ratio)}."
            )
        for p99 in _latencies(each):
            return (
                f"{each.label}: {_asked(each)} P99 of {named(p99.of)} is {_p99(each, p99)}. "
                f"Over {named(p99.over)}: {in_words(p99)}."
            )
    return ""


def _asked(each: Rated) -> str:
    return f"at {formats.number(each.middle_rate_per_s)} {each.section.operation}/s"


def _p99(each: Rated, ratio: Ratio) -> str:
    """`5.0 ms (4.9–5.2)`."""
    line = next(one for one in each.lines if each.ratio(one, each.middle_rate_per_s) is ratio)
    at = line.at(each.middle_rate_per_s)
    assert at is not None
    value = at.point.figures["latency_p99_s"].scaled(MS_PER_S, "ms")
    bounds = f" ({value.bounds})" if value.bounds else ""
    return f"{formats.number(value.point)} ms{bounds}"


def _capacities(each: Rated, results: StudyResults) -> list[tuple[Capacity, Ratio]]:
    return [
        (one, ratio)
        for one in each.capacities
        if one.cell.workers == each.headline_n
        if (ratio := over_processes(one, results.ratios)) is not None
    ]


def _latencies(each: Rated) -> list[Ratio]:
    return [
        ratio
        for ratio in each.ratios
        if ratio.of.parameters[RATE] == each.middle_rate_per_s
        and ratio.of.workers == each.headline_n
    ]
