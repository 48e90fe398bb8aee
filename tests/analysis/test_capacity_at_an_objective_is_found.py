"""Capacity at an SLO is that of the queue, outside the rates a bound; its ratios are paired."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from scaling.analysis.ratios import Ratios
from scaling.analysis.results import StudyResults
from scaling.analysis.served.capacity import Capacity, crossing, over_processes
from scaling.journal.record import RunLine
from scaling.study.kinds import parse_objective
from scaling.study.questions import CAPACITY
from tests.support.runs import with_
from tests.support.served_studies import FakeServedStudy
from tests.support.studies import place

GRID = tuple(float(round(200 * 1.25**k)) for k in range(11))  # 200 to 1,863
SLO = parse_objective("p99<20ms")
FREE, USUAL, MIMALLOC = ("3.14t", "threads"), ("3.14", "processes"), ("3.14+mimalloc", "processes")
STUDY = FakeServedStudy(
    configurations=[FREE, USUAL, MIMALLOC],
    answers_per_s={FREE: 900.0, USUAL: 700.0, MIMALLOC: 1_000.0},
    rates=GRID,
    blocks=6,
    window_s=20.0,
)


@pytest.fixture(scope="module")
def results() -> StudyResults:
    return STUDY.results


@pytest.fixture(scope="module")
def found(results: StudyResults) -> StudyResults:
    return at_objective(results)


def at_objective(results: StudyResults, *objectives: str) -> StudyResults:
    """The same study, with objectives."""
    texts = list(objectives) or [SLO.text]
    stated = with_(results.study, study={**results.study.study, "slo": texts})
    return StudyResults(results.frame, stated)


def ratios(found: StudyResults) -> Ratios:
    return found.ratios.where(measure=CAPACITY.format(SLO.text))


def of(found: StudyResults, configuration: tuple[str, str], workers: int) -> Capacity:
    (one,) = (each for each in found.capacities if place(each.cell) == (*configuration, workers))
    return one


def test_it_is_that_of_the_queue(found: StudyResults) -> None:
    for configuration, workers in product(STUDY.configurations, STUDY.workers):
        true = STUDY.capacity_per_s(configuration, workers, SLO.limit_s)
        one = of(found, configuration, workers)
        assert one.bound == ""
        assert one.estimate.point == pytest.approx(true, rel=0.05)
        assert one.estimate.n == STUDY.blocks
        assert one.per_core.point == pytest.approx(one.estimate.point / workers)


def test_memory_is_that_of_the_runs(results: StudyResults, found: StudyResults) -> None:
    one = of(found, FREE, 2)
    gib = results.frame.query("arm == '3.14t' and workers == 2")["pss_bytes"].median() / 2**30
    assert one.per_gib.point == pytest.approx(one.estimate.point / gib, rel=0.02)


def test_threads_are_compared_with_the_strongest_processes(found: StudyResults) -> None:
    ratio = over_processes(of(found, FREE, 2), found.ratios)
    assert ratio is not None
    assert ratio.over == of(found, MIMALLOC, 2).cell
    true = [STUDY.capacity_per_s(each, 2, SLO.limit_s) for each in (FREE, MIMALLOC)]
    assert ratio.point == pytest.approx(true[0] / true[1], rel=0.05)
    assert ratio.verdict.word == "slower"
    primary = [each for each in found.ratios if each.verdict.family == "primary"]
    assert primary == [ratio]


def test_two_workers_have_the_capacity_of_two(found: StudyResults) -> None:
    cell = of(found, FREE, 2).cell
    (gain,) = ratios(found).where("gain", keep=lambda each: each.of == cell)
    assert gain.point == pytest.approx(2, rel=0.05)
    assert gain.verdict.word == "faster"


def test_outside_the_rates_it_is_a_bound() -> None:
    fast = replace(STUDY, answers_per_s={FREE: 5_000.0, USUAL: 250.0}, workers=(1,))
    results = replace(fast, configurations=[FREE, USUAL]).results
    found = at_objective(results)
    assert of(found, FREE, 1).text == "≥ 1,860/s"
    assert of(found, USUAL, 1).text == "< 200/s"
    ratio = over_processes(of(found, FREE, 1), found.ratios)
    assert ratio is not None
    assert ratio.verdict.word == "faster"  # even so


def test_a_ratio_of_bounds_to_the_same_side_is_not_known() -> None:
    both = replace(
        STUDY,
        configurations=[FREE, USUAL],
        answers_per_s={FREE: 5_000.0, USUAL: 9_000.0},
        workers=(1,),
    )
    results = both.results
    assert not ratios(at_objective(results))


def test_a_bound_proves_nothing_about_the_other_side() -> None:
    """Threads reach at least the last rate, which processes just exceed in no block."""
    close = replace(
        STUDY,
        configurations=[FREE, USUAL],
        answers_per_s={FREE: 5_000.0, USUAL: 1_000.0},
        rates=GRID[:7],  # up to 763/s; the capacity of processes is 770/s, in some blocks less
        workers=(1,),
        speed_noise=0.02,
    )
    results = close.results
    (ratio,) = ratios(at_objective(results))
    assert ratio.verdict.word == "inconclusive"


def test_errors_end_the_capacity() -> None:
    def fails(run: RunLine) -> RunLine:
        rate = run.cell.parameters["rate_per_s"]
        assert isinstance(rate, float)
        return with_(run, load__errors={"reset": 1}) if rate >= GRID[3] else run

    one = replace(STUDY, configurations=[FREE], workers=(1,))
    results = replace(one, change=fails).results
    (found,) = at_objective(results).capacities
    assert found.estimate.point == GRID[2]


def test_an_outlier_does_not_decide() -> None:
    """One lucky run above the crossing: the highest rate that passed would be 2,000."""
    rates = np.array([250.0, 500.0, 1_000.0, 1_500.0, 2_000.0])
    latencies = np.array([0.004, 0.006, 0.03, 0.05, 0.015])
    sound = np.ones(5, np.bool_)
    rate_per_s, side = crossing(rates, latencies, sound, 0.02)
    assert 500 < rate_per_s < 1_000
    assert side == 0


def test_a_lax_objective_ends_at_the_backlog() -> None:
    rates = np.array([250.0, 500.0, 1_000.0])
    sound = np.array([True, True, False])
    assert crossing(rates, np.array([0.1, 0.2, 0.9]), sound, 10.0) == (500.0, 0)
    assert crossing(rates, np.array([0.1, 0.2, 0.9]), ~sound, 10.0) == (250.0, -1)


def test_several_objectives_have_a_capacity_each(results: StudyResults) -> None:
    both = at_objective(results, "p99<20ms", "p50<5ms")
    threads = [each for each in both.capacities if place(each.cell) == (*FREE, 2)]
    assert {each.objective.text for each in both.capacities} == {"p99<20ms", "p50<5ms"}
    ratios = [over_processes(each, both.ratios) for each in threads]
    assert [ratio and ratio.verdict.family for ratio in ratios] == ["primary", "primary"]


def test_a_study_without_objectives_has_none(results: StudyResults) -> None:
    assert results.capacities == []
