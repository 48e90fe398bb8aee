"""Capacity at an SLO is that of the queue, outside the rates a bound; its ratios are paired."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scaling.analysis.tables.capacity import crossing
from scaling.analysis.tables.study import Study
from scaling.journal.record import RunLine
from scaling.study.kinds import parse_objective
from scaling.study.questions import CAPACITY, OVER_PROCESSES
from tests.support.runs import with_
from tests.support.served_studies import FakeServedStudy

GRID = tuple(float(round(200 * 1.25**k)) for k in range(11))  # 200 to 1,863
SLO = parse_objective("p99<20ms")
FREE, USUAL = ("3.14t", "threads"), ("3.14", "processes")
STUDY = FakeServedStudy(
    configurations=[FREE, USUAL],
    answers_per_s={FREE: 900.0, USUAL: 700.0},
    rates=GRID,
    blocks=6,
    window_s=12.0,
    ticks=4,
)


NAME = CAPACITY.format(SLO.text)


def at_objective(made: FakeServedStudy, *objectives: str) -> Study:
    """The study, with objectives."""
    return replace(made, options={"slo": list(objectives) or [SLO.text]}).study


@pytest.fixture(scope="module")
def found() -> Study:
    return at_objective(STUDY)


def of(study: Study, configuration: tuple[str, str], workers: int) -> Mapping[Any, Any]:
    arm, model = configuration
    rows = study.estimates.query(f"measure == {NAME!r} and workers == {workers}")
    (row,) = rows[(rows["arm"] == arm) & (rows["model"] == model)].to_dict("records")
    return row


def ratios(study: Study, question: str = OVER_PROCESSES) -> pd.DataFrame:
    if study.ratios.empty:
        return study.ratios
    return study.ratios.query(f"measure == {NAME!r} and question == {question!r}")


def ratio(study: Study, workers: int, question: str = OVER_PROCESSES) -> Mapping[Any, Any]:
    rows = ratios(study, question)
    (row,) = rows[(rows["workers"] == workers) & (rows["arm"] == FREE[0])].to_dict("records")
    return row


def test_it_is_that_of_the_queue(found: Study) -> None:
    for configuration, workers in product(STUDY.configurations, STUDY.workers):
        true = STUDY.capacity_per_s(configuration, workers, SLO.limit_s)
        one = of(found, configuration, workers)
        assert one["bound"] == 0
        assert one["point"] == pytest.approx(true, rel=0.05)
        assert one["n"] == STUDY.blocks


def test_outside_the_rates_it_is_a_bound() -> None:
    fast = replace(STUDY, answers_per_s={FREE: 5_000.0, USUAL: 250.0}, workers=(1,))
    study = at_objective(fast)
    for configuration, rate, bound in ((FREE, GRID[-1], 1), (USUAL, GRID[0], -1)):
        row = of(study, configuration, 1)
        assert (row["point"], row["bound"]) == (rate, bound)
    assert ratio(study, 1)["word"] == "faster"  # even so


def test_a_bound_proves_nothing_about_the_other_side() -> None:
    """Threads reach at least the last rate, which processes just exceed in no block."""
    close = replace(
        STUDY,
        answers_per_s={FREE: 5_000.0, USUAL: 1_000.0},
        rates=GRID[:7],  # up to 763/s; the capacity of processes is 770/s, in some blocks less
        workers=(1,),
        speed_noise=0.02,
    )
    assert ratio(at_objective(close), 1)["word"] not in {"slower", "same"}
    slower = replace(close, answers_per_s={FREE: 5_000.0, USUAL: 900.0})
    assert ratio(at_objective(slower), 1)["said"].startswith("at least ")


@pytest.mark.parametrize("fault", ["errors", "declined"])
def test_errors_end_the_capacity(fault: str) -> None:
    def fails(run: RunLine) -> RunLine:
        rate = run.cell.parameters["rate_per_s"]
        assert isinstance(rate, float)
        return with_(run, **{f"load__{fault}": {"reset": 1}}) if rate >= GRID[3] else run

    one = replace(STUDY, configurations=[FREE], workers=(1,))
    assert of(at_objective(replace(one, change=fails)), FREE, 1)["point"] == GRID[2]


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
