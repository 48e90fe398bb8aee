"""In an open loop throughput is the schedule's: P99, CPU time and memory are compared instead.

P99 at a rate is over the strongest processes, and lower bounds prove no more than they do.
"""

from dataclasses import replace

import numpy as np
import pytest

from scaling.analysis.between_studies import Across
from scaling.analysis.comparison import Compared
from scaling.analysis.gate import checked
from scaling.analysis.ratios import FELL_BEHIND, Ratio, Ratios
from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.drift import drift
from scaling.base.errors import UsageError
from scaling.base.formats import BLANK, percents
from scaling.journal.record import RunLine, Ticks
from scaling.report.plots.caption import noise_text
from scaling.report.tables.between_studies import across_chapters
from scaling.report.tables.export import comparison_rows
from scaling.report.tables.grid import chapters_markdown
from scaling.report.tables.notes import spread_text
from scaling.report.tables.rates import rated
from scaling.study.load import is_open_loop
from scaling.study.questions import OVER_PROCESSES, P99, THROUGHPUT
from tests.support.runs import changing, changing_ticks, with_
from tests.support.served_studies import FakeServedStudy
from tests.support.studies import place

FREE, USUAL = ("3.14t", "threads"), ("3.14", "processes")
MIMALLOC = ("3.14+mimalloc", "processes")
STUDY = FakeServedStudy(
    configurations=[FREE, USUAL, MIMALLOC],
    answers_per_s={FREE: 1_000.0, USUAL: 700.0, MIMALLOC: 1_200.0},
    rates=(200.0, 400.0, 600.0, 650.0),
    blocks=8,
    window_s=20.0,
    aa_pairs=True,
)


@pytest.fixture(scope="module")
def results() -> StudyResults:
    return STUDY.results


@pytest.fixture(scope="module")
def with_slo(results: StudyResults) -> StudyResults:
    """The same runs, of a study with an objective."""
    return StudyResults(results.frame, replace(STUDY, options={"slo": ["p99<6ms"]}).first_line)


def at_rate(results: StudyResults, rate: float) -> Compared:
    (found,) = (each for each in results.judged if each.section.rate_per_s == rate)
    return found


def over_processes(compared: Compared, workers: int) -> dict[str, Ratio]:
    found = compared.ratios.where(OVER_PROCESSES, keep=lambda each: each.of.workers == workers)
    return {each.figure: each for each in found}


def test_throughput_has_no_verdict(results: StudyResults) -> None:
    measures = {ratio.figure for each in results.judged for ratio in each.ratios}
    assert measures == {"latency_p99_s", "cpu_s_per_op", "memory"}
    assert {each.question for each in results.ratios} == {"over processes", "step"}


def test_a_rate_has_no_speed_up(results: StudyResults) -> None:
    points = [
        point for section in results.sections for curve in section.curves for point in curve.points
    ]
    assert all(point.throughput.n and not point.speedup.n for point in points)


def test_each_figure_is_over_the_processes_that_are_best_at_it() -> None:
    """Those on 3.14+mimalloc answer soonest with the least CPU time, those on 3.14 take the least
    memory.
    """

    def change(run: RunLine) -> RunLine:
        more = 2 if (run.cell.arm, run.cell.model) == MIMALLOC else 1
        return with_(run, memory__pss_bytes=more * (run.memory.pss_bytes or 0))

    results = replace(STUDY, rates=(600.0,), change=change).results
    found = over_processes(at_rate(results, 600.0), 2)
    assert place(found["cpu_s_per_op"].over)[:2] == MIMALLOC
    assert found["cpu_s_per_op"].point == pytest.approx(1.2, rel=0.05)
    assert found["cpu_s_per_op"].verdict.word == "more"
    assert place(found["memory"].over)[:2] == USUAL
    assert found["memory"].memory_kind == "PSS"
    assert place(found[P99].over)[:2] == MIMALLOC
    assert found[P99].point == pytest.approx((1_200 - 300) / (1_000 - 300), rel=0.1)  # of M/M/1
    assert found[P99].verdict.word == "slower"  # a longer latency


def test_a_step_of_the_ladder_has_its_latency(results: StudyResults) -> None:
    """Two M/M/1 queues at 300/s each: P99 is ln 100 / (μ - 300)."""
    steps = at_rate(results, 600.0).ratios.where("step", P99)
    (step,) = steps.where(keep=lambda each: each.of.workers == 2)
    assert (place(step.of)[:2], place(step.over)[:2]) == (MIMALLOC, USUAL)
    assert step.point == pytest.approx((700 - 300) / (1_200 - 300), rel=0.05)
    assert step.verdict.word == "faster"


def test_those_that_fell_behind_less_are_the_best_at_p99() -> None:
    """All fell behind in some of the blocks, and the weakest kept the best of theirs."""
    speeds = {FREE: 1_500.0, USUAL: 1_000.0, MIMALLOC: 920.0}
    made = replace(STUDY, answers_per_s=speeds, workers=(1,), rates=(900.0,), speed_noise=0.08)
    found = replace(made, window_s=4.0, aa_pairs=False).results
    behind = found.frame[["saturated" in reasons for reasons in found.frame["reasons"]]]
    assert set(behind["arm"]) == {USUAL[0], MIMALLOC[0]}
    (compared,) = found.judged
    assert place(over_processes(compared, 1)[P99].over)[:2] == USUAL


def test_the_middle_rate_is_the_primary_hypothesis(results: StudyResults) -> None:
    """Of four rates the second; at the headline N."""
    ((rate, ratio),) = [
        (each.section.rate_per_s, ratio)
        for each in results.judged
        for ratio in each.ratios
        if ratio.verdict.family == "primary"
    ]
    assert (rate, ratio.measure, place(ratio.of)) == (400.0, P99, (*FREE, 2))


def test_with_an_objective_capacity_is_the_primary_one(with_slo: StudyResults) -> None:
    (primary,) = [each for each in with_slo.ratios if each.verdict.family == "primary"]
    assert primary.measure == "capacity at p99<6ms"
    rows = comparison_rows(with_slo)
    rows = rows[rows["family"] == "primary"]
    assert set(rows["measure"]) == {"capacity at p99<6ms"}
    assert "rate_per_s" not in rows["parameters"].iloc[0]
    assert rows["runs"].tolist() == [STUDY.blocks]


def test_a_closed_loop_is_compared_as_usual() -> None:
    closed = replace(STUDY, rates=(0.0,), window_s=4.0).results
    (found,) = closed.judged
    assert found.section.rate_per_s is None
    assert not found.ratios.where(measure=P99)
    headline = [each for each in found.over_processes if each.of.workers == 2]
    assert headline[0].throughput.verdict.family == "primary"
    assert headline[0].throughput.point == pytest.approx(1_000 / 1_200, rel=0.05)
    assert all(point.speedup.n for curve in found.curves for point in curve.points)


def test_a_machine_that_slows_down_is_found_by_cpu_time() -> None:
    """At a rate, throughput stays."""

    def slower(run: RunLine) -> RunLine:
        factor = 1 + 0.02 * run.block

        def used(ticks: Ticks) -> Ticks:
            return with_(ticks, cpu_ns=[round((each or 0) * factor) for each in ticks.cpu_ns or ()])

        return changing_ticks(used)(run)

    one = replace(STUDY, configurations=[FREE], rates=(400.0,), window_s=10.0, aa_pairs=False)
    assert drift(replace(one, change=slower).frame).word == "slower"
    assert drift(one.frame).word == "none"


def test_the_bound_of_few_cores_is_that_of_its_formula() -> None:
    """κ 300 µs, γ 100 µs on two cores: two workers gain 1.5 at most."""
    few = replace(
        STUDY,
        cores=2,
        logical=2,
        server_cpu_s=300e-6,
        generator_cpu_s=100e-6,
        blocks=1,
        rates=(400.0,),
    )
    frame = few.frame
    two, one = frame[frame["workers"] == 2], frame[frame["workers"] == 1]
    assert two["gain_bound"].to_numpy() == pytest.approx(1.5, rel=0.02)
    assert one["gain_bound"].to_numpy() == pytest.approx(1)
    assert two["shared_cores"].all()
    assert not one["shared_cores"].any()


def test_enough_cores_are_not_marked(results: StudyResults) -> None:
    assert not results.frame["shared_cores"].any()
    assert np.allclose(results.frame["gain_bound"], results.frame["workers"])

    apart = changing(load__cpus=[2], load__worker_cpus=[0, 1])
    three = replace(STUDY, cores=3, logical=3, blocks=1, rates=(400.0,), generator_cpu_s=1e-3)
    shared = replace(three, change=apart).frame["shared_cores"]
    assert not shared.any(), "the generator's CPU is none of the workers'"


FORKED = ("3.14", "forked")
THREE_RATES = FakeServedStudy(
    configurations=(FREE, USUAL, FORKED),
    answers_per_s={FREE: 1_000.0, USUAL: 1_500.0, FORKED: 1_450.0},
    workers=(1, 2),
    rates=(400.0, 800.0, 1600.0),
    blocks=6,
    window_s=6.0,
)


def p99s(results: StudyResults) -> Ratios:
    return results.ratios.where(OVER_PROCESSES, P99)


def by_rate(study: FakeServedStudy) -> dict[tuple[float, int], Ratio]:
    """Those of P99 over processes, by rate and N."""
    found = p99s(study.results)
    assert all((each.of.arm, each.of.model) == FREE for each in found)
    return {(float(str(each.of.parameters["rate_per_s"])), each.of.workers): each for each in found}


def test_a_lower_bound_proves_only_what_is_beyond_it() -> None:
    made = replace(THREE_RATES, workers=(1,), rates=(1200.0, 1600.0))
    found = by_rate(made)
    assert found[1200.0, 1].verdict.word == "slower"  # threads alone fell behind
    assert (1600.0, 1) not in found  # all of them did
    odd = {FREE: 1_290.0, USUAL: 1_000.0, FORKED: 1_000.0}
    noisy = by_rate(replace(made, answers_per_s=odd, speed_noise=0.0))
    assert noisy[1200.0, 1].verdict.word == "faster"  # processes alone did


def test_what_a_server_declines_makes_its_p99_a_lower_bound() -> None:
    def word(fraction: float) -> str:
        def declines(run: RunLine) -> RunLine:
            is_threads = run.load is not None and run.cell.model == "threads"
            count = round(fraction * run.load.offered) if run.load and is_threads else 0
            return with_(run, load__declined={"status 503": count})

        (found,) = p99s(replace(quick, change=declines).results)
        return found.verdict.word

    quick = replace(THREE_RATES, answers_per_s={FREE: 1_500.0, USUAL: 1_000.0}, workers=(1,))
    quick = replace(quick, configurations=(FREE, USUAL), rates=(400.0,))
    assert word(0.001) == "faster"
    assert word(0.05) == "inconclusive"  # the slowest requests are in no latency


def test_each_rate_has_the_noise_of_its_own_pair() -> None:
    four = (*THREE_RATES.configurations, ("3.14+mimalloc", "processes"))
    results = replace(THREE_RATES, configurations=four, aa_pairs=True).results
    floors: dict[float, float] = {}
    for pair in results.floor.pairs:
        rate = float(str(pair.cell.parameters["rate_per_s"]))
        floors[rate] = max(0.02, pair.floor("latency_p99_s"), floors.get(rate, 0.0))
    assert len(floors) == len(set(floors.values())) == len(THREE_RATES.rates)
    assert {each.verdict.margin for each in p99s(results)} == {0.02}
    for cell in results.blocks.cells:
        noise = results.floor.of(cell.workload, "latency_p99_s", cell.parameters)
        assert max(0.02, noise) == floors[float(str(cell.parameters["rate_per_s"]))]
    every = [pair.floor("latency_p99_s") for pair in results.floor.pairs]
    assert f"±{percents(every)} (serve, P99)" in spread_text(results)
    (captioned, *_) = rated(results)
    assert f"±{percents(every)} in P99" in noise_text(captioned.section, results.floor)


def test_a_latency_that_is_a_lower_bound_is_no_noise() -> None:
    slow = replace(THREE_RATES, configurations=(FREE,), rates=(4_000.0,), aa_pairs=True)
    (pair,) = slow.results.floor.pairs
    assert pair.ratios["throughput"].n == THREE_RATES.blocks
    assert pair.ratios["latency_p99_s"].n == 0


ONE = (("3.14t", "threads"),)
OPEN = FakeServedStudy(configurations=ONE, workers=(1, 2), rates=(500.0,), blocks=6, window_s=5.0)
BOTH = replace(OPEN, rates=(0.0, 500.0))
SLOW = replace(OPEN, answers_per_s={ONE[0]: 300.0})


def compared(now: FakeServedStudy, then: FakeServedStudy = OPEN) -> Across:
    return Across(then.results, now.results)


def test_studies_are_compared_by_p99() -> None:
    found = compared(replace(OPEN, answers_per_s={ONE[0]: 1_400.0}, seed=2))
    assert THROUGHPUT not in {each.measure for each in found.ratios}
    ratios = found.ratios.where(measure=P99)
    assert len(ratios) == 2
    for each in ratios:
        then, now = (s.points[each.of].figures[P99] for s in (found.then, found.now))
        assert each.point == pytest.approx(now.point / then.point, rel=0.05)
        assert each.point < 1
        assert each.verdict.word == "faster"
    text = chapters_markdown(across_chapters(found, "then", "now"))
    assert "P99 ms then" in text
    assert "requests/s then" not in text


def test_a_lower_bound_over_a_latency_is_slower_by_at_least_so_much() -> None:
    """The policy of all ratios: what is known of a server that fell behind is not dropped."""
    found = compared(SLOW)
    one, _ = found.ratios.where(measure=P99)
    assert (one.n, one.verdict.word) == (6, "slower")
    back = Across(found.now, found.then).ratios.where(measure=P99)[0]
    assert (back.n, back.verdict.word) == (6, "faster")


def test_two_lower_bounds_have_no_ratio() -> None:
    found = compared(SLOW, then=SLOW)
    one, two = found.ratios.where(measure=P99)
    assert (one.n, two.n) == (0, 6)
    assert one.verdict.why == FELL_BEHIND
    text = chapters_markdown(across_chapters(found, "then", "now"))
    assert f"{BLANK} no ratio:" in text


def test_the_gate_checks_closed_loops_only() -> None:
    assert not any(is_open_loop(each.parameters) for each in checked(BOTH.results.blocks, {}))
    with pytest.raises(UsageError, match="open loops"):
        checked(OPEN.results.blocks, {})
