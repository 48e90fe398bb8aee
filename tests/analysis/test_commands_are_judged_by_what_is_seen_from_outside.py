"""A command measured from outside has throughput and CPU time, and nothing of its workers' own."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from scaling.journal.record import Outside, RunLine, Ticks
from tests.support.runs import with_
from tests.support.served_studies import FakeServedStudy

ONE = FakeServedStudy(configurations=(("3.14", "processes"),), workers=(2,), rates=(0.0,), blocks=2)
INSIDE = ("fairness", "fairness_min_max", "lag_p50_s", "lag_max_s")


def from_outside(run: RunLine, loop: str = "asyncio.unix_events.Loop", **seen: Any) -> RunLine:
    """The run as if its workers had belonged to a command."""
    assert run.record
    assert run.record.loop
    assert run.load
    ticks = [worker.ticks for worker in run.record.workers]
    cpu_ns = np.sum([each.cpu_ns for each in ticks], axis=0).tolist()
    (instants,) = {tuple(each.instant_ns) for each in ticks}
    answered = np.linspace(0, run.load.completed, len(instants)).round().astype(int).tolist()
    whole = Ticks(
        instant_ns=list(instants),
        time_ns=list(instants),
        operations=answered,
        errors=[0] * len(instants),
        bytes=[0] * len(instants),
        cpu_ns=cpu_ns,
    )
    first = run.record.workers[0]
    one = with_(first, ticks=whole, process=None, in_flight=None, loop_class=loop, figures={})
    facts = with_(run.record.loop, class_=loop)
    outside = Outside(**{"workers": 2, "processes": 3, **seen})
    return with_(run, record__outside=outside, record__workers=[one], record__loop=facts)


def frame(**seen: Any) -> Any:
    return replace(ONE, change=lambda run: from_outside(run, **seen)).frame


def test_throughput_is_what_the_generator_counted_and_what_only_workers_know_is_blank() -> None:
    runs = frame()
    assert set(runs["validity"]) == {"valid"}, runs["reasons"].tolist()
    assert runs["throughput_per_s"].tolist() == pytest.approx(runs["achieved_per_s"], rel=1e-6)
    assert (runs["cpu_s_per_op"] > 0).all()
    assert runs[list(INSIDE)].isna().all(axis=None)
    assert ONE.frame[list(INSIDE)].notna().all(axis=None)


@pytest.mark.parametrize(("cpus", "validity"), [([0, 1], "valid"), ([0, 1, 2], "invalid")])
def test_a_pinned_command_has_the_cpus_of_all_its_workers(cpus: list[int], validity: str) -> None:
    def pinned(run: RunLine) -> RunLine:
        seen = from_outside(run)
        assert seen.record
        (one,) = seen.record.workers
        return with_(seen, placement__pinning=[[0], [1]], record__workers=[with_(one, cpus=cpus)])

    assert set(replace(ONE, change=pinned).frame["validity"]) == {validity}


def test_workers_and_loops_are_compared_where_they_are_seen() -> None:
    told: dict[str, dict[str, Any]] = {
        "workers: the command made 1 event loops, the cell asks for 2": {"workers": 1},
        "loop: uvloop.Loop, the cell asks for asyncio": {"loop": "uvloop.Loop"},
    }
    for says, seen in told.items():
        runs = frame(**seen)
        assert set(runs["validity"]) == {"invalid"}
        assert all(says in str(details) for details in runs["details"])
    assert frame(workers=None, loop="none")["valid"].all()


def test_a_run_that_one_process_served_or_that_began_at_work_is_labelled() -> None:
    for cpu_ns, share, reasons in (
        ((970, 30, 0), 0.97, ("one-process",)),
        ((600, 400, 0), 0.6, ()),
        ((), math.nan, ()),
    ):
        runs = frame(cpu_ns=cpu_ns)
        assert runs["busiest_process_share"].tolist() == pytest.approx([share] * 2, nan_ok=True)
        assert set(runs["reasons"]) == {reasons}
        assert runs["valid"].all()
        if reasons:
            assert "one of 2 processes used 97% of the CPU time" in runs["details"].iloc[0][0]
    runs = frame(at_rest=False)
    assert set(runs["validity"]) == {"suspect"}
    assert all("still at work when the load began" in str(each) for each in runs["details"])
