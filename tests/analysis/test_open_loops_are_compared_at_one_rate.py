"""In an open loop throughput is the schedule's: P99, CPU time and memory are compared instead."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from scaling.analysis.comparison.compare import Compared
from scaling.analysis.comparison.rate_ratios import RateRatio
from scaling.analysis.precision import headline_precision
from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.drift import drift
from scaling.journal.record import RunLine
from scaling.report.tables.comparison_rows import comparison_rows
from tests.support.fabricate import with_
from tests.support.served import Served, studied

FREE, USUAL = ("3.14t", "threads"), ("3.14", "processes")
FORKED, MIMALLOC = ("3.14+mimalloc", "forked"), ("3.14+mimalloc", "processes")
STUDY = Served(
    configurations=[FREE, USUAL, MIMALLOC],
    speeds={FREE: 1_000.0, USUAL: 700.0, MIMALLOC: 1_200.0},
    rates=(200.0, 400.0, 600.0, 650.0),
    blocks=8,
    window_s=30.0,
    aa_pairs=True,
)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> StudyResults:
    return StudyResults.of(studied(tmp_path_factory.mktemp("study"), STUDY))


def at_rate(results: StudyResults, rate: float) -> Compared:
    (found,) = (each for each in results.judged if each.runs.section.rate_per_s == rate)
    return found


def over_processes(compared: Compared, workers: int) -> RateRatio:
    (found,) = (
        each
        for each in compared.at_rate
        if each.question == "over processes" and each.of.workers == workers
    )
    return found


def primary(results: StudyResults) -> list[tuple[float | None, str, Sequence[object]]]:
    return [
        (each.runs.section.rate_per_s, ratio.measure, ratio.of)
        for each in results.judged
        for ratio in each.all_ratios
        if ratio.verdict.family == "primary"
    ]


def test_throughput_has_no_verdict(results: StudyResults) -> None:
    measures = {ratio.measure for each in results.judged for ratio in each.all_ratios}
    assert measures == {"latency_p99_s", "cpu_s_per_op", "memory"}
    assert all(not each.gains and not each.ladders for each in results.judged)
    assert results.gains == {}


def test_a_rate_has_no_speed_up(results: StudyResults) -> None:
    points = [
        point for section in results.sections for curve in section.curves for point in curve.points
    ]
    assert all(point.throughput.n and not point.speedup.n for point in points)


def test_threads_are_compared_with_the_soonest_processes(results: StudyResults) -> None:
    found = over_processes(at_rate(results, 600.0), 2)
    assert found.over[:2] == MIMALLOC
    assert found.cpu_s_per_op.point == pytest.approx(1.2, rel=0.05)
    assert found.cpu_s_per_op.verdict.word == "more"
    assert found.memory_kind == "PSS"
    assert found.latency_p99_s is None  # `scaling.analysis.served.latency_ratios` has it


def test_a_step_of_the_ladder_has_its_latency(results: StudyResults) -> None:
    """Two M/M/1 queues at 300/s each: P99 is ln 100 / (μ - 300)."""
    (step,) = (
        each
        for each in at_rate(results, 600.0).at_rate
        if each.question == "step" and each.of.workers == 2
    )
    assert (step.of[:2], step.over[:2]) == (MIMALLOC, USUAL)
    assert step.latency_p99_s is not None
    assert step.latency_p99_s.point == pytest.approx((700 - 300) / (1_200 - 300), rel=0.05)
    assert step.latency_p99_s.verdict.word == "faster"


def test_forked_processes_are_processes(tmp_path: Path) -> None:
    forked = replace(
        STUDY,
        configurations=[FREE, USUAL, FORKED],
        speeds={FORKED: 1_500.0},
        rates=(400.0,),
        blocks=3,
    )
    (found,) = StudyResults.of(studied(tmp_path, forked)).judged
    assert over_processes(found, 2).over[:2] == FORKED


def test_all_figures_are_over_the_same_processes(tmp_path: Path) -> None:
    """Also where all fell behind in some of the blocks, and the weakest kept the best of theirs."""
    speeds = {FREE: 1_500.0, USUAL: 1_000.0, MIMALLOC: 920.0}
    made = replace(STUDY, speeds=speeds, workers=(1,), rates=(900.0,), noise=0.08)
    found = StudyResults.of(studied(tmp_path, replace(made, window_s=4.0, aa_pairs=False)))
    behind = found.frame[["saturated" in reasons for reasons in found.frame["reasons"]]]
    assert set(behind["arm"]) == {USUAL[0], MIMALLOC[0]}
    (compared,) = found.judged
    (p99,) = found.latency_ratios
    assert over_processes(compared, 1).over == p99.over
    assert p99.over[:2] == USUAL


def test_the_middle_rate_is_the_primary_hypothesis(results: StudyResults) -> None:
    """Of four rates the second; at the headline N."""
    assert primary(results) == []
    found = [each for each in results.latency_ratios if each.ratio.verdict.family == "primary"]
    assert [(each.rate_per_s, each.of.workers) for each in found] == [(400.0, 2)]


def test_with_an_objective_capacity_is_the_primary_one(results: StudyResults) -> None:
    stated = with_(results.study, study={**results.study.study, "slo": ["p99<20ms"]})
    with_slo = StudyResults(results.frame, stated)
    assert {each.ratio.verdict.family for each in with_slo.latency_ratios} == {"exploratory"}
    families = [each.ratio.verdict.family for each in with_slo.capacities.ratios]
    assert families.count("primary") == 1


def test_a_closed_loop_is_compared_as_usual(tmp_path: Path) -> None:
    closed = StudyResults.of(studied(tmp_path, replace(STUDY, rates=(0.0,), window_s=4.0)))
    (found,) = closed.judged
    assert found.runs.section.rate_per_s is None
    assert found.at_rate == []
    headline = [each for each in found.baseline_ratios if each.workers == 2]
    assert headline[0].throughput.verdict.family == "primary"
    assert headline[0].throughput.point == pytest.approx(1_000 / 1_200, rel=0.05)
    assert all(point.speedup.n for curve in found.runs.curves for point in curve.points)


def test_rows_for_other_programs_have_them(results: StudyResults) -> None:
    rows = comparison_rows(results)
    assert set(rows["question"]) == {"over processes", "step"}
    assert set(rows["measure"]) == {"latency_p99_s", "cpu_s_per_op", "memory"}
    ((question, measure, n),) = rows.loc[
        rows["family"] == "primary", ["question", "measure", "workers"]
    ].itertuples(index=False, name=None)
    assert (question, measure, n) == ("over processes", "latency_p99_s", 2)
    stated = with_(results.study, study={**results.study.study, "slo": ["p99<6ms"]})
    with_slo = comparison_rows(StudyResults(results.frame, stated))
    primary = with_slo[with_slo["family"] == "primary"]
    assert set(primary["measure"]) == {"capacity at p99<6ms"}
    assert "rate_per_s" not in primary["parameters"].iloc[0]
    assert primary["runs"].tolist() == [STUDY.blocks]


def test_noise_of_latency_is_that_of_pairs(results: StudyResults) -> None:
    """The same cell twice: P99 of some 10,000 requests scatters by a few per cent."""
    step = next(each for each in at_rate(results, 400.0).at_rate if each.latency_p99_s)
    assert step.latency_p99_s
    assert step.latency_p99_s.verdict.margin == results.floor.margin("serve", "latency_p99_s")


def test_blocks_are_added_for_the_primary_ratio_alone(results: StudyResults) -> None:
    (name,) = headline_precision(results.frame, results.study)
    assert name.endswith("P99 of 3.14t threads over 3.14+mimalloc processes, N = 2")


def test_with_an_objective_blocks_are_added_for_capacity(results: StudyResults) -> None:
    stated = with_(results.study, study={**results.study.study, "slo": ["p99<6ms"]})
    found = headline_precision(results.frame, stated)
    (primary,) = [
        each.ratio
        for each in StudyResults(results.frame, stated).capacities.ratios
        if each.ratio.verdict.family == "primary"
    ]
    ((name, ratio),) = found.items()
    assert "capacity at p99<6ms of 3.14t threads over 3.14+mimalloc processes, N = 2" in name
    assert (ratio.point, ratio.low, ratio.high) == (primary.point, primary.low, primary.high)


def test_a_machine_that_slows_down_is_found_by_cpu_time(tmp_path: Path) -> None:
    """At a rate, throughput stays."""

    def slower(run: RunLine) -> RunLine:
        assert run.record is not None
        workers = [
            with_(
                worker,
                ticks__cpu_ns=[
                    round((used or 0) * (1 + 0.02 * run.block))
                    for used in worker.ticks.cpu_ns or ()
                ],
            )
            for worker in run.record.workers
        ]
        return with_(run, record__workers=workers)

    one = replace(STUDY, configurations=[FREE], rates=(400.0,), window_s=10.0, aa_pairs=False)
    assert drift(studied(tmp_path / "slower", one, slower).frame).word == "slower"
    assert drift(studied(tmp_path / "steady", one).frame).word == "none"


def test_the_bound_of_few_cores_is_that_of_its_formula(tmp_path: Path) -> None:
    """κ 300 µs, γ 100 µs on two cores: two workers gain 1.5 at most."""
    few = replace(
        STUDY, cores=2, server_cpu_s=300e-6, generator_cpu_s=100e-6, blocks=1, rates=(400.0,)
    )
    frame = studied(tmp_path, few).frame
    two, one = frame[frame["workers"] == 2], frame[frame["workers"] == 1]
    assert two["gain_bound"].to_numpy() == pytest.approx(1.5, rel=0.02)
    assert one["gain_bound"].to_numpy() == pytest.approx(1)
    assert two["shared_cores"].all()
    assert not one["shared_cores"].any()


def test_enough_cores_are_not_marked(results: StudyResults, tmp_path: Path) -> None:
    assert not results.frame["shared_cores"].any()
    assert np.allclose(results.frame["gain_bound"], results.frame["workers"])

    def apart(run: RunLine) -> RunLine:
        return with_(run, load__cpus=[2], load__worker_cpus=[0, 1])

    three = replace(STUDY, cores=3, blocks=1, rates=(400.0,), generator_cpu_s=1e-3)
    frame: pd.DataFrame = studied(tmp_path, three, apart).frame
    assert not frame["shared_cores"].any()  # the generator's CPU is none of the workers'
