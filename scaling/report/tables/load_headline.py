"""The answer of a study in an open loop: a sentence, and a row for each workload."""

from collections.abc import Iterator

from scaling.analysis.results import StudyResults
from scaling.analysis.served.capacity import CapacityRatio
from scaling.analysis.served.latency_ratios import LatencyRatio
from scaling.base import formats
from scaling.report.tables.findings import Finding, in_words
from scaling.report.tables.phrases import named
from scaling.report.tables.rated import Rated, rated

MS_PER_S = 1e3


def load_findings(results: StudyResults) -> list[Finding]:
    """Threads over processes at the headline N: capacity, or P99 at the middle rate."""
    return [finding for each in rated(results) for finding in _findings(each, results)]


def _findings(each: Rated, results: StudyResults) -> Iterator[Finding]:
    for ratio in _capacities(each, results):
        of, over = named(ratio.of.configuration), named(ratio.over.configuration)
        yield Finding(
            f"{each.label}: capacity at {ratio.of.objective.text}, {of} over {over}", ratio.ratio
        )
    for p99 in _latencies(each):
        asked = _asked(each)
        yield Finding(
            f"{each.label}: P99 {asked}, {named(p99.of)} over {named(p99.over)}", p99.ratio
        )


def load_sentence(results: StudyResults) -> str:
    """What is known of the first workload, in words; empty where nothing was compared."""
    for each in rated(results):
        for ratio in _capacities(each, results):
            of, over = ratio.of, named(ratio.over.configuration)
            return (
                f"{each.label}: {named(of.configuration)} keep {of.objective.text} up to "
                f"{of.text}. Over {over}: {in_words(ratio.ratio)}."
            )
        for p99 in _latencies(each):
            return (
                f"{each.label}: {_asked(each)} P99 of {named(p99.of)} is {_p99(each, p99)}. "
                f"Over {named(p99.over)}: {in_words(p99.ratio)}."
            )
    return ""


def _asked(each: Rated) -> str:
    return f"at {formats.number(each.middle_rate_per_s)} {each.section.operation}/s"


def _p99(each: Rated, ratio: LatencyRatio) -> str:
    """`5.0 ms (4.9–5.2)`."""
    line = next(one for one in each.lines if each.ratio(one, ratio.rate_per_s) is ratio)
    at = line.at(ratio.rate_per_s)
    assert at is not None
    value = at.point.figures["latency_p99_s"].scaled(MS_PER_S, "ms")
    bounds = f" ({value.bounds})" if value.bounds else ""
    return f"{formats.number(value.point)} ms{bounds}"


def _capacities(each: Rated, results: StudyResults) -> list[CapacityRatio]:
    found = (results.capacities.over(one, "over processes") for one in each.capacities)
    return [
        ratio
        for ratio in found
        if ratio and ratio.ratio.n and ratio.of.configuration.workers == each.headline_n
    ]


def _latencies(each: Rated) -> list[LatencyRatio]:
    return [
        ratio
        for ratio in each.ratios
        if ratio.rate_per_s == each.middle_rate_per_s and ratio.of.workers == each.headline_n
    ]
