"""`sleep` sleeps for the stated pauses, and measures what it took beyond them."""

import statistics
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.children import measured
from tests.support.in_process import ALL_LOOPS, run_alone
from workers.workloads.parts.timers import Lateness, Pauses, exponential_s
from workers.workloads.parts.work import TURNS_PER_US
from workers.workloads.sleep import Sleep, Tasks

pytestmark = pytest.mark.one_build

# 200 × 200 operations of 5 ms on average, of which a test waits for the fifth part of a hundredth.
EXPONENTIAL = {"pauses": "exponential", "pause_ms": 5, "sleeps": 400, "sleeps_in_flight": 80}


@pytest.mark.slow
def test_overhead_is_what_is_left_above_the_timers() -> None:
    parameters = {"sleeps": 500, "sleeps_in_flight": 100, "pause_ms": 2}
    (worker,) = measured({"workload": "sleep", "parameters": parameters}).workers
    above_ns = worker.figures["overhead_ns_per_op"] * 500
    assert worker.started_ns is not None
    assert worker.finished_ns is not None
    # Five pauses of 2 ms one after the other; asyncio never ends one early.
    assert 0 < above_ns <= worker.finished_ns - worker.started_ns - 5 * 2e6


def test_longest_share_is_the_ideal() -> None:
    for sleeps, longest in [(100, 10), (101, 11), (2, 1)]:
        shares = Sleep(sleeps, 10)._shares()
        assert Pauses(0.002, []).shared_s(shares) == pytest.approx(longest * 0.002)
    drawn = Pauses(0.2, [0.1, 0.2, 0.3, 0.25, 0.4])
    assert drawn.shared_s(Sleep(5, 3)._shares()) == pytest.approx(
        0.55
    )  # 0.1 + 0.2, 0.3 + 0.25, 0.4


def test_where_each_has_its_own_task_the_next_begins_as_soon_as_one_ends() -> None:
    for sleeps, rounds in [(100, 10), (101, 11), (2, 1)]:
        assert Pauses(0.002, []).relayed_s(sleeps, 10) == pytest.approx(rounds * 0.002)
    drawn = Pauses(0.2, [0.3, 0.1, 0.1, 0.25])
    assert drawn.relayed_s(4, 2) == pytest.approx(0.45)  # of 0.3, and 0.1 + 0.1 + 0.25
    assert drawn.relayed_s(4, 9) == pytest.approx(0.3)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.integers(1, 40))
def test_no_deal_is_better_than_what_all_ask_for(drawn_s: list[float], in_flight: int) -> None:
    pauses, count = Pauses(0.5, drawn_s), len(drawn_s)
    least = max(*drawn_s, sum(drawn_s) / in_flight)
    assert pauses.relayed_s(count, in_flight) >= least * (1 - 1e-9)
    assert pauses.shared_s(Sleep(count, in_flight)._shares()) >= least * (1 - 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("tasks", get_args(Tasks))
@pytest.mark.parametrize("loop", ALL_LOOPS)
def test_timed_ones_have_a_latency_each(loop: str, tasks: str) -> None:
    parameters = {**EXPONENTIAL, "timed": True, "tasks": tasks}
    record = measured({"workload": "sleep", "parameters": parameters, "loop": loop, "workers": 2})
    for worker in record.workers:
        assert worker.ticks.operations[-1] == 400
        assert worker.latency is not None
        assert sum(worker.latency.count) == 400
        assert worker.figures["late_max_s"] >= worker.figures["late_mean_s"]
        assert 0 <= worker.figures["early_total"] <= 400
        if loop == "asyncio":
            assert worker.figures["early_total"] == 0


@pytest.mark.slow
def test_those_that_are_not_timed_have_none() -> None:
    parameters = {"sleeps": 10, "sleeps_in_flight": 5}
    (worker,) = measured({"workload": "sleep", "parameters": parameters}).workers
    assert worker.latency is None
    assert {*worker.figures} == {"planned_failures_total", "overhead_ns_per_op"}


def test_planned_failures_have_a_latency_too() -> None:
    worker = run_alone(Sleep(10, 5, pause_ms=0, fail_every=1, timed=True))
    found = worker.latencies()
    assert found is not None
    assert sum(found["count"]) == 10


def test_pauses_are_drawn_by_each_worker_for_itself() -> None:
    workload = Sleep(40, 8, pauses="exponential")
    another = Sleep(40, 8, pauses="exponential", seed=2)
    assert workload._draw(0) == workload._draw(0)
    assert workload._draw(0) != workload._draw(1)
    assert workload._draw(0) != another._draw(0)
    assert Sleep(40, 8)._draw(0) == []


def test_drawn_pauses_are_exponential() -> None:
    pauses_ms = [1e3 * pause_s for pause_s in exponential_s(40_000, 0.005, "seed")]
    assert len(pauses_ms) == 40_000
    # Mean and standard deviation of an exponential are the same; 40,000 give them within 4 %.
    assert statistics.fmean(pauses_ms) == pytest.approx(5, rel=0.04)
    assert statistics.stdev(pauses_ms) == pytest.approx(5, rel=0.04)


@pytest.mark.parametrize("tasks", get_args(Tasks))
def test_work_is_done_in_every_operation(monkeypatch: pytest.MonkeyPatch, tasks: Tasks) -> None:
    done: list[int] = []
    monkeypatch.setattr("workers.workloads.sleep.turns", done.append)
    run_alone(Sleep(20, 5, pause_ms=0, fail_every=2, work_us=10, tasks=tasks))
    assert done == [10 * TURNS_PER_US] * 20


def test_lateness_is_what_was_taken_less_what_was_asked_for() -> None:
    lateness = Lateness()
    for requested_ns, took_ns in [
        (10_000, 12_000),
        (10_000, 16_000),
        (10_000, 9_500),
        (10_000, 6_000),
    ]:
        lateness.add(requested_ns, took_ns)
    assert lateness.figures() == {
        "late_mean_s": pytest.approx(0.875e-6),
        "late_max_s": pytest.approx(6e-6),
        "early_total": 1,  # 500 ns may be the clock's
    }
