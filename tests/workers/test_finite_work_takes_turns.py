"""Finite work takes turns by rounds: whole parts of it, and all of it in the end."""

import asyncio
import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from scaling.analysis.table.ticks import throughputs
from scaling.journal.record import Record
from scaling.run import alternation
from scaling.run.child import Ending
from tests.support.children import driven, record_of
from tests.support.serving import alternated, are_apart, nothing, spans, true_slices
from workers import Worker
from workers.workloads import gather

pytestmark = [
    *(pytest.mark.slow, pytest.mark.one_build),
    pytest.mark.needs("stops"),
]

MODELS = ("threads", "processes", "forked", "interpreters")
DONE = (101, 5_050) * 2  # fan-outs, and tasks cancelled
CELL = {"workers": 2, "warmup_s": 0.0, "window_s": 1.0, "ticks": 1}
LIMIT_S = 60.0
GATHER = {"workload": "gather", "parameters": {"tasks": 10_050, "fan_out": 100}}
CANCEL = {"workload": "cancel", "parameters": {"tasks": 5_050, "batch": 100}}


def together(cells: Iterable[Mapping[str, Any]]) -> list[Ending]:
    return alternated([{**CELL, **cell, "limit_s": LIMIT_S} for cell in cells])[0]


def rounds(record: Record) -> list[tuple[int, int]]:
    """From the release to the last finish of each."""
    every = zip(*map(true_slices, record.workers), strict=True)
    assert all(len({released for released, _ in each}) == 1 for each in every)
    return spans(record)


@pytest.fixture(scope="module")
def measured() -> list[Record]:
    """A group of all models, each with one of two workloads."""
    workloads = (GATHER, CANCEL) * 2
    cells = [{**each, "model": model} for each, model in zip(workloads, MODELS, strict=True)]
    return [record_of(each) for each in together(cells)]


def test_one_works_at_a_time_and_the_rounds_together_are_all_of_the_work(
    measured: list[Record],
) -> None:
    assert are_apart(measured)
    (count,) = {len(rounds(record)) for record in measured}  # each has as many
    assert count >= 8
    for record, expected in zip(measured, DONE, strict=True):
        assert record.finite
        for worker in record.workers:
            done = worker.ticks.operations
            assert done[-1] - done[0] == expected
            assert worker.errors == 0
            assert all(one < two for one, two in itertools.pairwise(done))


def test_time_to_finish_is_that_of_all_rounds(measured: list[Record]) -> None:
    """From the release to the last finish of each; what lies between rounds is no part of it."""
    for record, rate in zip(measured, throughputs(measured), strict=True):
        took_s = sum(finished - released for released, finished in rounds(record)) / 1e9
        done = sum(each.ticks.operations[-1] - each.ticks.operations[0] for each in record.workers)
        assert rate == pytest.approx(done / took_s, rel=1e-6)
        for worker in record.workers:
            assert worker.slices is not None
            own_ns = sum(worker.slices.closed_ns) - sum(worker.slices.opened_ns)
            time_ns = worker.ticks.time_ns
            assert time_ns[-1] - worker.ticks.instant_ns[0] == own_ns
            assert len(time_ns) == len(rounds(record)) + 1
            assert worker.released_ns == rounds(record)[0][0]
            assert worker.finished_ns == worker.slices.closed_ns[-1]
            assert worker.ticks.cpu_ns
            assert 0 < (worker.ticks.cpu_ns[-1] or 0) - (worker.ticks.cpu_ns[0] or 0) <= own_ns


def test_a_figure_is_the_mean_over_rounds_of_different_lengths(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two rounds, of one fan-out and of three, which take 1 µs and 7 µs."""
    instants_ns = iter([0, 1_000, 50_000, 57_000])
    monkeypatch.setattr("workers.workloads.gather.time.monotonic_ns", instants_ns.__next__)
    worker, workload = Worker(0, 1, {}), gather.Gather(fan_out=2)

    async def do() -> None:
        await workload.setup(worker)
        for workload.tasks in (2, 6):
            await workload.run(worker)

    asyncio.run(do())
    assert worker.operations == 4
    assert worker.figures == {"ns_per_task": 1_000.0}


def test_memory_is_that_of_work_done_at_once() -> None:
    """No round has more tasks alive than there would be, nor fewer: the peak is the same."""
    cell = {"workload": "gather", "workers": 1}
    cell |= {"parameters": {"tasks": 100_000, "fan_out": 25_000}}
    at_once = driven(CELL | cell, limit_s=LIMIT_S).memory
    (in_rounds, _) = (each.memory for each in together([cell, {**cell, "model": "processes"}]))
    assert at_once.peak_bytes is not None
    assert at_once.baseline_rss_bytes is not None
    tasks_bytes = at_once.peak_bytes - at_once.baseline_rss_bytes
    assert tasks_bytes > 10 << 20
    assert in_rounds.peak_bytes == pytest.approx(at_once.peak_bytes, abs=0.3 * tasks_bytes)
    for each in (at_once, in_rounds):  # read while the work lasts, not when it is over
        assert each.samples
        assert each.window_rss_bytes is not None
        assert each.window_rss_bytes > at_once.baseline_rss_bytes + 0.2 * tasks_bytes


def test_rounds_are_the_same_share_of_the_work_of_all() -> None:
    """They begin with a small one, and add up to all of it."""
    given: dict[str, list[float]] = {"quick": [], "slow": []}

    class Working(alternation.Member[None]):
        name, work = "quick", 1.0

        async def give(self, order: Mapping[str, Any]) -> None:
            given[self.name].append(order["share_done"])
            self.work_s = self.work

    quick, slow = Working(nothing), Working(nothing)
    slow.name, slow.work = "slow", 5.0
    asyncio.run(alternation._do_rounds([quick, slow]))
    assert given["quick"] == given["slow"]
    shares = [two - one for one, two in itertools.pairwise([0.0, *given["quick"]])]
    assert shares[0] == pytest.approx(1 / alternation.MOST_ROUNDS)
    assert shares[-1] == pytest.approx(alternation.ROUND_S / 3.0, rel=0.05)
    assert given["quick"][-1] == 1.0
