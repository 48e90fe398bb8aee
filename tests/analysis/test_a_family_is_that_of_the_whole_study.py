"""Closed and open loops of one study share its families: more questions never make it easier."""

import pytest

from scaling import capacity
from scaling.analysis.ratios import ratios
from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.hypotheses import corrected
from scaling.analysis.statistics.verdict import hypothesis
from scaling.study.questions import P99, at_rate
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
    primary = [each for each in results.ratios if each.verdict.family == "primary"]
    tested = [hypothesis(each.blocks, each.verdict.margin) for each in primary]
    expected = corrected([each.p_differs for each in tested], ["primary"] * len(tested))
    assert [each.verdict.p_differs for each in primary] == pytest.approx(expected)
    (p99,) = [each for each in primary if each.measure == P99]
    assert len(primary) == 3
    asked = [each for each in at_rate(results.blocks) if each.measure == P99]
    (alone,) = [each for each in ratios(results.blocks, asked) if each.of == p99.of]
    assert p99.verdict.p_differs >= alone.verdict.p_differs


def test_objectives_named_afterwards_are_exploratory(results: StudyResults) -> None:
    families = set(capacity(results, "p99<20ms")["family"]) - {""}
    assert families == {"exploratory"}
