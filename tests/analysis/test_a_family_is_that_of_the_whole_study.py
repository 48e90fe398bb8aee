"""Closed and open loops of one study share its families: more questions never make it easier."""

import pytest

from scaling import capacity
from scaling.analysis.comparison.compare import compare
from scaling.analysis.results import StudyResults
from scaling.analysis.served.latency_ratios import latency_ratios
from scaling.analysis.statistics.families import corrected
from tests.support.served import Served, studied

THREADS, PROCESSES = ("3.14t", "threads"), ("3.14", "processes")
BOTH_LOOPS = Served(
    configurations=(THREADS, PROCESSES),
    speeds={THREADS: 1_100.0},
    rates=(0.0, 500.0, 800.0),
    blocks=7,
    window_s=5.0,
    noise=0.03,
)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> StudyResults:
    return StudyResults.of(studied(tmp_path_factory.mktemp("study"), BOTH_LOOPS))


def test_p99_is_corrected_with_the_ratios_of_throughput(results: StudyResults) -> None:
    of_latency = latency_ratios(results.frame, results.floor)
    tested = [*compare(results.paired).hypotheses, *of_latency.hypotheses]
    primary = [each for each in tested if each.family == "primary"]
    expected = corrected([each.p_differs for each in primary], [each.family for each in primary])
    closed = [
        each.value.verdict.p_differs
        for compared in results.judged
        for each in compared.all_ratios
        if each.verdict.family == "primary"
    ]
    (p99,) = [
        each.ratio.verdict.p_differs
        for each in results.latency_ratios
        if each.ratio.verdict.family == "primary"
    ]
    assert len(closed) == 2
    assert sorted([*closed, p99]) == pytest.approx(sorted(expected))
    (alone,) = [
        each.ratio.verdict.p_differs
        for each in of_latency.judged()
        if each.ratio.verdict.family == "primary"
    ]
    assert p99 >= alone


def test_objectives_named_afterwards_are_exploratory(results: StudyResults) -> None:
    families = set(capacity(results, "p99<20ms")["family"]) - {""}
    assert families == {"exploratory"}
