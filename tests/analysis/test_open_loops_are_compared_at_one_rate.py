"""In an open loop throughput is the schedule's: P99, CPU time and memory are compared instead.

P99 at a rate is over the strongest processes, and lower bounds prove no more than they do.
"""

from dataclasses import replace

import msgspec
import numpy as np
import pandas as pd
import pytest

from scaling.analysis.gate import chosen
from scaling.analysis.statistics.drift import OVER_TIME, drift
from scaling.analysis.tables.derived import SPEEDUP
from scaling.analysis.tables.pairs import EQUAL_CELLS
from scaling.analysis.tables.study import Study
from scaling.base.errors import UsageError
from scaling.journal.record import Calibration, RunLine, Ticks
from scaling.report.csv import comparison
from scaling.report.render.grid import Text
from scaling.report.view.answer import LATENCIES
from scaling.study.questions import CAPACITY, CPU, MEMORY, OVER_PROCESSES, P99, THROUGHPUT
from tests.support.runs import changing, changing_ticks, with_
from tests.support.served_studies import FakeServedStudy
from tests.support.studies import one, where

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
ASKED = {"question": OVER_PROCESSES, "rate": 600.0, "workers": 2}


@pytest.fixture(scope="module")
def study() -> Study:
    return STUDY.study


def over(row: dict[str, object]) -> tuple[object, object]:
    return row["over_arm"], row["over_model"]


def test_throughput_is_not_compared_and_a_rate_has_no_speed_up(study: Study) -> None:
    asked = study.ratios[study.ratios["question"] != EQUAL_CELLS]
    assert set(asked["measure"]) == {P99, CPU, MEMORY}
    assert set(asked["question"]) == {OVER_PROCESSES, "step"}
    assert set(study.estimates["measure"]) >= {THROUGHPUT}
    assert SPEEDUP not in set(study.estimates["measure"])


def test_each_figure_is_over_the_processes_that_are_best_at_it() -> None:
    """Those on 3.14+mimalloc answer soonest with the least CPU time, those on 3.14 take the least
    memory.
    """

    def change(run: RunLine) -> RunLine:
        more = 2 if (run.cell.arm, run.cell.model) == MIMALLOC else 1
        return with_(run, memory__pss_bytes=more * (run.memory.pss_bytes or 0))

    ratios = replace(STUDY, rates=(600.0,), change=change).study.ratios
    cpu, memory, p99 = (one(ratios, measure=name, **ASKED) for name in (CPU, MEMORY, P99))
    assert (over(cpu), over(memory), over(p99)) == (MIMALLOC, USUAL, MIMALLOC)
    assert (cpu["ratio"], cpu["word"]) == (pytest.approx(1.2, rel=0.05), "more")
    assert memory["memory_kind"] == "PSS"
    assert p99["ratio"] == pytest.approx((1_200 - 300) / (1_000 - 300), rel=0.1)  # of M/M/1
    assert p99["word"] == "longer"


def test_a_rate_has_its_share_of_the_peak_that_the_study_found_or_was_calibrated_with(
    study: Study,
) -> None:
    """The calibration had found 800/s; two processes on 3.14+mimalloc answer 2,400/s."""
    assert study.cells["of_peak"].isna().all()
    made = Calibration(
        workload="serve", parameters={"keep_alive": True, "server": "tcp"}, peak_per_s=800.0,
        baseline=STUDY.runs[0].cell,
    )  # fmt: skip
    line = msgspec.structs.replace(study.line, calibrations=[made])
    cells = replace(study, line=line).cells
    assert list(cells["of_peak"]) == pytest.approx(list(cells["rate"] / 800))
    found = replace(replace(STUDY, rates=(0.0, 600.0), aa_pairs=False).study, line=line)
    at_rate = found.cells[(found.cells["rate"] > 0) & (found.cells["workers"] == 2)]
    assert list(at_rate["of_peak"]) == pytest.approx([0.25] * 3, rel=0.02)
    assert found.cells.loc[found.cells["rate"] == 0, "of_peak"].isna().all()
    (shown,) = LATENCIES.grids(found)
    place = [each.text for each in shown.headings].index("of the peak")
    assert shown.rows[0][place] == Text("25 %")


def test_those_that_fell_behind_less_are_the_best_at_p99() -> None:
    """All fell behind in some of the blocks, and the weakest kept the best of theirs."""
    speeds = {FREE: 1_500.0, USUAL: 1_000.0, MIMALLOC: 920.0}
    made = replace(STUDY, answers_per_s=speeds, workers=(1,), rates=(900.0,), speed_noise=0.08)
    found = replace(made, window_s=4.0, aa_pairs=False).study
    behind = found.runs[["saturated" in reasons for reasons in found.runs["reasons"]]]
    assert set(behind["arm"]) == {USUAL[0], MIMALLOC[0]}
    assert over(one(found.ratios, question=OVER_PROCESSES, measure=P99)) == USUAL


def test_the_middle_rate_is_the_headline_and_with_an_objective_the_capacity(study: Study) -> None:
    """Of four rates the second; at the headline N."""
    headline = one(study.ratios, headline=True)
    assert (headline["rate"], headline["measure"], headline["workers"]) == (400.0, P99, 2)
    measure = CAPACITY.format("p99<6ms")
    with_slo = Study(replace(STUDY, options={"slo": ["p99<6ms"]}).first_line, study.runs)
    assert one(with_slo.ratios, headline=True)["measure"] == measure
    row = one(comparison(with_slo), headline=True)
    assert row["measure"] == measure
    assert "rate_per_s" not in row["parameters"]


def test_a_machine_that_slows_down_is_found_by_cpu_time() -> None:
    """At a rate, throughput stays."""

    def slower(run: RunLine) -> RunLine:
        factor = 1 + 0.02 * run.block

        def used(ticks: Ticks) -> Ticks:
            return with_(ticks, cpu_ns=[round((each or 0) * factor) for each in ticks.cpu_ns or ()])

        return changing_ticks(used)(run)

    one = replace(STUDY, configurations=[FREE], rates=(400.0,), window_s=10.0, aa_pairs=False)
    assert drift(replace(one, change=slower).frame).at[OVER_TIME, "word"] == "slower"
    assert drift(one.frame).at[OVER_TIME, "word"] == "none"


def test_what_few_cores_allow_is_bounded_by_its_formula_and_enough_are_not_marked(
    study: Study,
) -> None:
    """κ 300 µs, γ 100 µs on two cores: two workers gain 1.5 at most."""
    few = replace(STUDY, cores=2, logical=2, blocks=1, rates=(400.0,))
    frame = replace(few, server_cpu_s=300e-6, generator_cpu_s=100e-6).frame
    two = frame["workers"] == 2
    np.testing.assert_allclose(frame["gain_bound"], np.where(two, 1.5, 1), rtol=0.02)
    assert frame["shared_cores"].tolist() == two.tolist()
    assert not study.runs["shared_cores"].any()
    assert np.allclose(study.runs["gain_bound"], study.runs["workers"])
    apart = changing(load__cpus=[2], load__worker_cpus=[0, 1])
    shared = replace(few, cores=3, logical=3, generator_cpu_s=1e-3, change=apart).frame
    assert not shared["shared_cores"].any(), "the generator's CPU is none of the workers'"


FORKED = ("3.14", "forked")
THREE_RATES = FakeServedStudy(
    configurations=(FREE, USUAL, FORKED),
    answers_per_s={FREE: 1_000.0, USUAL: 1_500.0, FORKED: 1_450.0},
    workers=(1, 2),
    rates=(400.0, 800.0, 1600.0),
    blocks=6,
    window_s=6.0,
)
QUICK = replace(
    THREE_RATES,
    configurations=(FREE, USUAL),
    answers_per_s={FREE: 1_500.0, USUAL: 1_000.0},
    workers=(1,),
    rates=(400.0,),
)


def p99s(study: FakeServedStudy) -> pd.DataFrame:
    return where(study.study.ratios, question=OVER_PROCESSES, measure=P99)


def test_a_lower_bound_proves_only_what_is_beyond_it_and_two_have_no_ratio() -> None:
    """Threads fell behind at 1,200/s, then processes did, then both."""
    made = replace(QUICK, rates=(1200.0,), window_s=6.0)
    for threads, processes, word, bound in (
        (1_000.0, 1_500.0, "longer", 1),
        (1_500.0, 1_000.0, "shorter", -1),
    ):
        found = one(p99s(replace(made, answers_per_s={FREE: threads, USUAL: processes})))
        assert (found["word"], found["bound"], found["n"]) == (word, bound, made.blocks)
        assert found["said"].startswith("at least ")
    neither = replace(made, answers_per_s=dict.fromkeys((FREE, USUAL), 1_000.0))
    assert p99s(neither).empty
    assert set(where(neither.study.estimates, measure=P99)["bound"]) == {1}  # it is shown


def test_what_a_server_declines_makes_its_p99_a_lower_bound() -> None:
    def word(fraction: float) -> str:
        def declines(run: RunLine) -> RunLine:
            is_threads = run.load is not None and run.cell.model == "threads"
            count = round(fraction * run.load.offered) if run.load and is_threads else 0
            return with_(run, load__declined={"status 503": count})

        return str(one(p99s(replace(QUICK, change=declines)))["word"])

    assert word(0.001) == "shorter"
    assert word(0.05) == ""  # the slowest requests are in no latency


def test_each_rate_has_its_own_pair_and_a_lower_bound_is_no_noise() -> None:
    four = replace(THREE_RATES, configurations=(*THREE_RATES.configurations, MIMALLOC))
    pairs = where(replace(four, aa_pairs=True).study.ratios, question=EQUAL_CELLS)
    assert set(where(pairs, measure=P99)["rate"]) == {400.0, 800.0, 1600.0}
    behind = replace(THREE_RATES, configurations=(FREE,), rates=(4_000.0,), aa_pairs=True)
    pairs = where(behind.study.ratios, question=EQUAL_CELLS)
    assert one(pairs, measure=THROUGHPUT)["n"] == THREE_RATES.blocks
    assert where(pairs, measure=P99).empty


def test_the_gate_checks_closed_loops_only() -> None:
    both = replace(THREE_RATES, rates=(0.0, 400.0), blocks=1).study
    assert set(chosen(both.cells, {})["rate"]) == {0.0}
    with pytest.raises(UsageError, match="open loops"):
        chosen(replace(THREE_RATES, blocks=1).study.cells, {})
