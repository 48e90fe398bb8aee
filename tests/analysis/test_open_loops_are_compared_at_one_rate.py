"""In an open loop throughput is the schedule's: P99, CPU time and memory are compared instead.

P99 at a rate is over the strongest processes, and lower bounds prove no more than they do.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from scaling.analysis.gate import chosen
from scaling.analysis.statistics.drift import OVER_TIME, drift
from scaling.base.errors import UsageError
from scaling.journal.record import RunLine, Ticks
from scaling.study.questions import OVER_PROCESSES, P99
from tests.support.runs import changing, changing_ticks, with_
from tests.support.served_studies import FakeServedStudy
from tests.support.studies import one, where

FREE, USUAL = ("3.14t", "threads"), ("3.14", "processes")
MIMALLOC = ("3.14+mimalloc", "processes")
STUDY = FakeServedStudy(
    configurations=[FREE, USUAL, MIMALLOC],
    answers_per_s={FREE: 1_000.0, USUAL: 700.0, MIMALLOC: 1_200.0},
    rates=(400.0,),
    blocks=8,
    window_s=10.0,
)


def test_a_machine_that_slows_down_is_found_by_cpu_time() -> None:
    """At a rate, throughput stays."""

    def slower(run: RunLine) -> RunLine:
        factor = 1 + 0.02 * run.block

        def used(ticks: Ticks) -> Ticks:
            return with_(ticks, cpu_ns=[round((each or 0) * factor) for each in ticks.cpu_ns or ()])

        return changing_ticks(used)(run)

    one = replace(STUDY, configurations=[FREE])
    assert drift(replace(one, change=slower).frame).at[OVER_TIME, "word"] == "slower"
    assert drift(one.frame).at[OVER_TIME, "word"] == "none"


def test_what_few_cores_allow_is_bounded_by_its_formula_and_enough_are_not_marked() -> None:
    """κ 300 µs, γ 100 µs on two cores: two workers gain 1.5 at most."""
    few = replace(STUDY, cores=2, logical=2, blocks=1)
    frame = replace(few, server_cpu_s=300e-6, generator_cpu_s=100e-6).frame
    two = frame["workers"] == 2
    np.testing.assert_allclose(frame["gain_bound"], np.where(two, 1.5, 1), rtol=0.02)
    assert frame["shared_cores"].tolist() == two.tolist()
    runs = replace(STUDY, blocks=1).frame
    assert not runs["shared_cores"].any()
    assert np.allclose(runs["gain_bound"], runs["workers"])
    apart = changing(load__cpus=[2], load__worker_cpus=[0, 1])
    shared = replace(few, cores=3, logical=3, generator_cpu_s=1e-3, change=apart).frame
    assert not shared["shared_cores"].any(), "the generator's CPU is none of the workers'"


QUICK = FakeServedStudy(
    configurations=(FREE, USUAL),
    answers_per_s={FREE: 1_500.0, USUAL: 1_000.0},
    workers=(1,),
    rates=(400.0,),
    blocks=6,
    window_s=6.0,
)


def p99s(study: FakeServedStudy) -> pd.DataFrame:
    return where(study.study.ratios, question=OVER_PROCESSES, measure=P99)


def test_a_lower_bound_proves_only_what_is_beyond_it_and_two_have_no_ratio() -> None:
    """Threads fell behind at 1,200/s, then processes did, then both."""
    made = replace(QUICK, rates=(1200.0,))
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


def test_the_gate_checks_closed_loops_only() -> None:
    both = replace(QUICK, rates=(0.0, 400.0), blocks=1).study
    assert set(chosen(both.cells, {})["rate"]) == {0.0}
    with pytest.raises(UsageError, match="open loops"):
        chosen(replace(QUICK, blocks=1).study.cells, {})
