"""In an open loop throughput is the schedule's: P99, CPU time and memory are compared instead."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from scaling.analysis.comparison.compare import Compared
from scaling.analysis.precision import headline_precision
from scaling.analysis.ratios import Ratio
from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.drift import drift
from scaling.journal.record import Cell, RunLine
from scaling.report.tables.export import comparison_rows
from scaling.study.questions import OVER_PROCESSES, P99
from tests.support.comparisons import place
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
    (found,) = (each for each in results.judged if each.section.rate_per_s == rate)
    return found


def over_processes(compared: Compared, workers: int) -> dict[str, Ratio]:
    found = compared.ratios.where(OVER_PROCESSES, keep=lambda each: each.of.workers == workers)
    return {each.figure: each for each in found}


def primary(results: StudyResults) -> list[tuple[float | None, str, Cell]]:
    return [
        (each.section.rate_per_s, ratio.measure, ratio.of)
        for each in results.judged
        for ratio in each.ratios
        if ratio.verdict.family == "primary"
    ]


def test_throughput_has_no_verdict(results: StudyResults) -> None:
    measures = {ratio.figure for each in results.judged for ratio in each.ratios}
    assert measures == {"latency_p99_s", "cpu_s_per_op", "memory"}
    assert {each.question for each in results.ratios} == {"over processes", "step"}


def test_a_rate_has_no_speed_up(results: StudyResults) -> None:
    points = [
        point for section in results.sections for curve in section.curves for point in curve.points
    ]
    assert all(point.throughput.n and not point.speedup.n for point in points)


def test_each_figure_is_over_the_processes_that_are_best_at_it(tmp_path: Path) -> None:
    """Those on 3.14+mimalloc answer soonest with the least CPU time, those on 3.14 take the least
    memory.
    """

    def change(run: RunLine) -> RunLine:
        more = 2 if (run.cell.arm, run.cell.model) == MIMALLOC else 1
        return with_(run, memory__pss_bytes=more * (run.memory.pss_bytes or 0))

    results = StudyResults.of(studied(tmp_path, replace(STUDY, rates=(600.0,)), change))
    found = over_processes(at_rate(results, 600.0), 2)
    assert place(found["cpu_s_per_op"].over)[:2] == MIMALLOC
    assert found["cpu_s_per_op"].point == pytest.approx(1.2, rel=0.05)
    assert found["cpu_s_per_op"].verdict.word == "more"
    assert place(found["memory"].over)[:2] == USUAL
    assert found["memory"].memory_kind == "PSS"
    assert place(found[P99].over)[:2] == MIMALLOC


def test_a_step_of_the_ladder_has_its_latency(results: StudyResults) -> None:
    """Two M/M/1 queues at 300/s each: P99 is ln 100 / (μ - 300)."""
    steps = at_rate(results, 600.0).ratios.where("step", P99)
    (step,) = steps.where(keep=lambda each: each.of.workers == 2)
    assert (place(step.of)[:2], place(step.over)[:2]) == (MIMALLOC, USUAL)
    assert step.point == pytest.approx((700 - 300) / (1_200 - 300), rel=0.05)
    assert step.verdict.word == "faster"


def test_forked_processes_are_processes(tmp_path: Path) -> None:
    forked = replace(
        STUDY,
        configurations=[FREE, USUAL, FORKED],
        speeds={FORKED: 1_500.0},
        rates=(400.0,),
        blocks=3,
    )
    (found,) = StudyResults.of(studied(tmp_path, forked)).judged
    assert {place(each.over)[:2] for each in over_processes(found, 2).values()} == {FORKED}


def test_those_that_fell_behind_less_are_the_best_at_p99(tmp_path: Path) -> None:
    """All fell behind in some of the blocks, and the weakest kept the best of theirs."""
    speeds = {FREE: 1_500.0, USUAL: 1_000.0, MIMALLOC: 920.0}
    made = replace(STUDY, speeds=speeds, workers=(1,), rates=(900.0,), noise=0.08)
    found = StudyResults.of(studied(tmp_path, replace(made, window_s=4.0, aa_pairs=False)))
    behind = found.frame[["saturated" in reasons for reasons in found.frame["reasons"]]]
    assert set(behind["arm"]) == {USUAL[0], MIMALLOC[0]}
    (compared,) = found.judged
    assert place(over_processes(compared, 1)[P99].over)[:2] == USUAL


def test_the_middle_rate_is_the_primary_hypothesis(results: StudyResults) -> None:
    """Of four rates the second; at the headline N."""
    ((rate, measure, of),) = primary(results)
    assert (rate, measure, place(of)) == (400.0, P99, (*FREE, 2))


def test_with_an_objective_capacity_is_the_primary_one(results: StudyResults) -> None:
    stated = with_(results.study, study={**results.study.study, "slo": ["p99<6ms"]})
    with_slo = StudyResults(results.frame, stated)
    primary = [each for each in with_slo.ratios if each.verdict.family == "primary"]
    assert [each.measure for each in primary] == ["capacity at p99<6ms"]


def test_a_closed_loop_is_compared_as_usual(tmp_path: Path) -> None:
    closed = StudyResults.of(studied(tmp_path, replace(STUDY, rates=(0.0,), window_s=4.0)))
    (found,) = closed.judged
    assert found.section.rate_per_s is None
    assert not found.ratios.where(measure=P99)
    headline = [each for each in found.over_processes if each.of.workers == 2]
    assert headline[0].throughput.verdict.family == "primary"
    assert headline[0].throughput.point == pytest.approx(1_000 / 1_200, rel=0.05)
    assert all(point.speedup.n for curve in found.curves for point in curve.points)


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
    step = at_rate(results, 400.0).ratios.where("step", P99)[0]
    assert step.verdict.margin == results.floor.margin("latency_p99_s").share


def test_blocks_are_added_for_the_primary_ratio_alone(results: StudyResults) -> None:
    (name,) = headline_precision(results.frame, results.study)
    assert name.endswith("P99 of 3.14t threads over 3.14+mimalloc processes, N = 2")


def test_with_an_objective_blocks_are_added_for_capacity(results: StudyResults) -> None:
    stated = with_(results.study, study={**results.study.study, "slo": ["p99<6ms"]})
    found = headline_precision(results.frame, stated)
    (primary,) = [
        each
        for each in StudyResults(results.frame, stated).ratios
        if each.verdict.family == "primary"
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
