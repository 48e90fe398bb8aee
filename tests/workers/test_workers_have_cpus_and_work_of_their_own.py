"""Pinned workers have a core each while there are enough; work in flight is divided evenly."""

import json
import os
from typing import Any

import pytest

from scaling.base.errors import UsageError
from scaling.machine.topology import Topology
from scaling.study.file import study_from
from scaling.study.plan.cells import Plan, make_plan
from tests.support.children import Own, finish
from tests.support.descriptions import description
from tests.support.plans import flagged
from workers.cell import Cell, CellError, read_cell

pytestmark = pytest.mark.one_build

CPUS = sorted(os.sched_getaffinity(0))


def planned(*, pin: bool, affinity: tuple[int, ...] | None = (0, 1)) -> Plan:
    options = flagged(workload=("echo",), workers=("1,3",), pin=pin, controls=False)
    study = study_from(options, running_build="3.14t")
    where = Topology(logical_cpus=2, physical_cores=2, cores=((0,), (1,)), affinity=affinity)
    return make_plan(study, {"3.14t": description()}, where)


def test_a_plan_pins_only_if_asked_to_and_the_child_receives_its_cpus() -> None:
    loose, pinned = planned(pin=False), planned(pin=True)
    for workers in (1, 3):
        assert pinned.placement(workers).pinning == ((0,), (1,), (0,))[:workers]
        assert loose.placement(workers).pinning is None
    assert (loose.study.document["pin"], pinned.study.document["pin"]) == (False, True)
    sent = [json.dumps(pinned.document(cell, ticks=10)) for cell in pinned.cells]
    received = [read_cell(json.loads(line)).pinning for line in sent]
    assert received == [[[0], [1], [0]][: cell.workers] for cell in pinned.cells]
    with pytest.raises(UsageError, match="does not let a program choose its CPUs"):
        planned(pin=True, affinity=None)
    assert planned(pin=False, affinity=None).cells


MOVES = f"""
    from workers.workloads.compute import Compute
    class Theirs(Compute):
        async def setup(self, worker: Worker) -> None:
            worker.fail(f"{{sorted(os.sched_getaffinity(os.getpid()))}}")
            if worker.index == 1:
                os.sched_setaffinity(0, {CPUS})
    """


@pytest.mark.slow
@pytest.mark.parametrize("model", ["threads", "forked", "interpreters", "mixed"])
def test_real_workers_are_found_on_the_cpus_that_they_were_given(own: Own, model: str) -> None:
    """One moves itself, and is found where it is. The host is not moved."""
    asked = [[CPUS[-1]], [CPUS[0]], CPUS[:2], [CPUS[0]]]
    named = "mixed:2" if model == "mixed" else model
    workers = own.measured(MOVES, model=named, workers=4, pinning=asked).workers
    assert [worker.cpus for worker in workers] == [asked[0], CPUS, *asked[2:]]
    if model == "threads":
        assert {worker.error_samples[0] for worker in workers} == {str(CPUS)}
        assert [worker.cpus for worker in own.measured(MOVES, workers=1).workers] == [None]


@pytest.mark.slow
def test_a_cpu_that_is_not_there_fails_the_run_and_says_so() -> None:
    done = finish({"workload": "compute", "workers": 1, "pinning": [[4_000]]})
    failure = done.failure
    assert (failure.phase, failure.worker) == ("import", 0)
    assert "Invalid argument" in failure.error


@pytest.mark.parametrize(
    "wrong", [[], [[0]], [[0], []], [[0], 1], [[0], ["1"]], [[0], [-1]], [[0], [True]]], ids=str
)
def test_a_pinning_that_makes_no_sense_is_refused(
    wrong: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = {"workload": "compute", "workers": 2}
    with pytest.raises(CellError, match=r"^pinning: expected"):
        read_cell({**cell, "pinning": wrong})
    monkeypatch.delattr(os, "sched_setaffinity")
    with pytest.raises(CellError, match="cannot pin threads to CPUs"):
        read_cell({**cell, "pinning": [[0], [0]]})


COUNTS_CONNECTIONS = """
    from workers.workloads.echo import Echo
    class Theirs(Echo):
        async def setup(self, worker: Worker) -> None:
            self.connections += worker.index
            await super().setup(worker)
            worker.fail(f"{len(self._ends.clients)} connections")
    """


@pytest.mark.parametrize(
    ("total", "workers", "shares"),
    [(16, 2, [8, 8]), (7, 3, [3, 2, 2]), (4, 4, [1, 1, 1, 1]), (None, 2, [None, None])],
)
def test_even_shares(total: int | None, workers: int, shares: list[int | None]) -> None:
    cell = Cell("echo", workers=workers, in_flight=total)
    assert [cell.share(index) for index in range(workers)] == shares
    assert total is None or sum(share or 0 for share in shares) == total


@pytest.mark.slow
def test_each_worker_has_its_share_and_the_record_what_is_really_in_flight(own: Own) -> None:
    """The second one has a connection more than its share."""
    workers = own.measured(COUNTS_CONNECTIONS, workers=2, in_flight=5).workers
    assert [worker.in_flight for worker in workers] == [3, 3]
    assert [worker.error_samples for worker in workers] == [["3 connections"]] * 2
