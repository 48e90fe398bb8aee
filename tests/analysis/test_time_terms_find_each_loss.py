"""Each loss alone, made up in a run's readings, is in its own term, and the terms add up."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from scaling.analysis.table.load import rows_of
from scaling.analysis.table.time_terms import TERMS, TIME_TERMS, wilson_upper
from scaling.journal.record import (
    Cell,
    Outside,
    Record,
    RunLine,
    ThreadUse,
    Ticks,
    Waits,
    WorkerRecord,
)
from tests.support.runs import changing
from tests.support.studies import FakeStudy

S = 1_000_000_000
OPERATIONS = 1_000  # of each worker
SAMPLES = 200
NAMES = [term.name for term in TERMS]
US_PER_OP = 1e6 / OPERATIONS  # of one second of one worker, where all do as much


def worker(
    *,
    user_s: float = 0.0,
    system_s: float = 0.0,
    collector_s: float = 0.0,
    run_queue_s: float = 0.0,
    others_s: float = 0.0,
    window_s: float = 1.0,
    use: bool = True,
) -> WorkerRecord:
    """A worker that did 1,000 operations in its window; `collector_s` is part of `user_s`."""
    until, cpu_s = round(window_s * S), user_s + system_s
    return WorkerRecord(
        index=0,
        ticks=Ticks(
            instant_ns=[0, until],
            time_ns=[0, until],
            operations=[7, 7 + OPERATIONS],
            errors=[0, 0],
            bytes=[0, 0],
            cpu_ns=[S, S + round(cpu_s * S)],
        ),
        use=ThreadUse(
            user_ns=round(user_s * S),
            system_ns=round(system_s * S),
            collector_ns=round(collector_s * S),
            run_queue_ns=round(run_queue_s * S),
            process_cpu_ns=round((cpu_s + others_s) * S),
        )
        if use
        else None,
    )


def terms_of(
    *workers: WorkerRecord,
    calls: list[dict[str, int]] | None = None,
    model: str = "processes",
    **more: Any,
) -> dict[str, float]:
    """The columns of a run, µs per operation; all samples find its workers running unless given."""
    calls = [{"running": SAMPLES}] * len(workers) if calls is None else calls
    run = RunLine(
        cell=Cell(workload="echo", loop="uvloop", arm="3.14t", model=model, workers=len(workers)),
        outcome="measured",
        block=0,
        position=0,
        record=Record(schema=1, outcome="measured", workers=list(workers), **more),
        waits=Waits(source="syscall", rate_per_s=200, calls=calls) if calls else None,
    )
    rows = rows_of([run], FakeStudy().first_line)
    numbers = [name for name in TIME_TERMS if name.endswith("_s_per_op")]
    return {name.removesuffix("_s_per_op"): float(rows[name][0] * 1e6) for name in numbers}


def assert_only(terms: Mapping[str, float], **us: float) -> None:
    """These terms are as stated, every other is 0, and all together are the workers' time."""
    expected = dict.fromkeys(NAMES, 0.0) | us
    assert {name: terms[name] for name in NAMES} == pytest.approx(expected, abs=1e-6)
    assert sum(terms[name] for name in NAMES) == pytest.approx(terms["worker"], rel=1e-12)


def found(name: str, waiting_s: float) -> dict[str, int]:
    """Samples of a worker that spends that part of its second in that call."""
    waits = round(SAMPLES * waiting_s)
    return {name: waits, "running": SAMPLES - waits}


RUNS = {"running": SAMPLES}


@pytest.mark.parametrize(
    ("one", "call", "expected"),
    [
        (worker(user_s=0.8, system_s=0.2), RUNS, {"user": 800, "system": 200}),  # the ideal
        (worker(user_s=0.7), found("futex", 0.3), {"user": 700, "blocked": 300}),
        (worker(user_s=0.7), found("call 999", 0.3), {"user": 700, "blocked": 300}),
        (worker(user_s=0.6, run_queue_s=0.4), RUNS, {"user": 600, "run_queue": 400}),
        (worker(user_s=1.0, collector_s=0.25), RUNS, {"user": 750, "collector": 250}),
        # A collector in the kernel is counted once.
        (
            worker(user_s=0.1, system_s=0.9, collector_s=0.4),
            RUNS,
            {"system": 600, "collector": 400},
        ),
        (worker(user_s=0.5), found("epoll_wait", 0.5), {"user": 500, "idle": 500}),
        (worker(user_s=0.5), found("epoll_pwait2", 0.5), {"user": 500, "idle": 500}),
        (worker(user_s=0.5), found("io_uring_enter", 0.5), {"user": 500, "idle": 500}),
        (worker(user_s=0.6), RUNS, {"user": 600, "rest": 400}),  # a hypervisor
        (worker(user_s=0.6), found("page fault", 0.4), {"user": 600, "rest": 400}),
        (
            worker(user_s=0.6),
            {"futex": 20, "epoll_wait": 60, "running": 120},
            {"user": 600, "blocked": 100, "idle": 300},
        ),
    ],
)
def test_a_loss_is_in_its_own_term(
    one: WorkerRecord, call: dict[str, int], expected: dict[str, float]
) -> None:
    terms = terms_of(one, one, calls=[call] * 2)
    assert_only(terms, **expected)
    assert terms["worker"] == pytest.approx(US_PER_OP)
    assert terms["other_threads"] == 0


def test_idle_beyond_that_of_the_least_idle_is_imbalance() -> None:
    for first_s, user, idle, imbalance in ((1.0, 700, 0, 300), (0.8, 600, 200, 200)):
        calls = [found("epoll_wait", 1 - first_s), found("epoll_wait", 0.6)]
        terms = terms_of(worker(user_s=first_s), worker(user_s=0.4), calls=calls)
        assert_only(terms, user=user, idle=idle, imbalance=imbalance)
    # So is finite work that ends late on one worker.
    terms = terms_of(worker(user_s=0.5, window_s=0.5), worker(user_s=1.0), finite=True)
    assert_only(terms, user=750, imbalance=250)
    assert terms["worker"] == pytest.approx(US_PER_OP)


@pytest.mark.parametrize(
    ("model", "others_s", "us"),
    [
        ("processes", 0.3, 300),
        # Both workers have read the CPU time of the same process: 0.5 s each, 0.2 s of others.
        ("threads", 0.7, 100),
        ("interpreters", 0.7, 100),
    ],
)
def test_threads_without_a_loop_stand_beside_the_sum(
    model: str, others_s: float, us: float
) -> None:
    pooled = worker(user_s=0.5, others_s=others_s)
    terms = terms_of(pooled, pooled, calls=[found("epoll_wait", 0.5)] * 2, model=model)
    assert terms["other_threads"] == pytest.approx(us)
    assert_only(terms, user=500, idle=500)


def test_many_workers_that_are_idle_alike_have_no_imbalance() -> None:
    """Of few samples of each, some workers have none that waits: that is chance."""
    polls = np.random.default_rng(1).binomial(15, 0.15, size=16)
    assert 0 in polls
    calls = [{"epoll_wait": int(count), "running": 15 - int(count)} for count in polls]
    assert_only(terms_of(*[worker(user_s=0.85)] * 16, calls=calls), user=850, idle=150)


def test_time_that_no_sample_explains_is_the_rest() -> None:
    terms = terms_of(worker(user_s=0.4), calls=[found("futex", 0.1)])
    most = float(wilson_upper(np.array(0.1), np.array(SAMPLES)))
    assert_only(terms, user=400, blocked=1000 * most, rest=600 - 1000 * most)
    assert 0.1 < most < 0.16


def test_where_calls_cannot_be_sampled_blocked_idle_and_rest_are_one_term() -> None:
    for calls in ([], [found("futex", 0.1), {}]):  # or a worker has no sample in its window
        terms = terms_of(worker(user_s=0.9), worker(user_s=0.5), calls=calls)
        assert math.isnan(terms["blocked"])
        assert math.isnan(terms["rest"])
        assert terms["idle"] == pytest.approx(100)
        assert terms["imbalance"] == pytest.approx(200)
        assert terms["worker"] == pytest.approx(terms["user"] + terms["idle"] + terms["imbalance"])


def test_runs_that_lack_a_reading_have_no_terms() -> None:
    """Those of commands, of other runtimes, and without `schedstat`."""
    whole = worker(user_s=1.0)
    blank = WorkerRecord(index=0, ticks=whole.ticks, use=ThreadUse(user_ns=S, system_ns=0))
    for terms in (
        terms_of(whole, worker(user_s=1.0, use=False)),
        terms_of(whole, outside=Outside()),
        terms_of(whole, blank),
    ):
        assert all(math.isnan(value) for value in terms.values())


def test_what_threads_were_found_in_is_a_share_of_all_samples() -> None:
    calls = [{"futex": 30, "running": 20}, {"running": 50}]
    waits = Waits(source="wchan", rate_per_s=100, calls=calls)
    row = FakeStudy(workers=(2,), blocks=1, change=changing(waits=waits)).row
    assert row["waits"] == {"futex": 0.3, "running": 0.7}
