"""Machines with siblings, two kinds of cores, nodes, caches or a quota: from Ns to plots.

Nobody here has one: their files are written by hand (`tests.support.machines`).
"""

import math
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from scaling.journal.record import Description
from scaling.machine.topology import Topology, apart, cpu_order, pinning
from scaling.study.file import study_from
from scaling.study.plan.budget import FEWEST_WHOLE, RESERVE, fitted
from scaling.study.plan.cells import Plan, make_plan
from scaling.study.plan.groups import MOST_PER_CPU
from scaling.study.plan.refusals import Limits
from scaling.study.plan.table import cost_of, reservations
from scaling.study.presets import FEWEST_FOR_INTERVAL
from tests.support.machines import MACHINES, every_count
from tests.support.plans import flagged

pytestmark = [pytest.mark.slow, pytest.mark.one_build]

EACH = pytest.mark.parametrize("name", MACHINES)


@pytest.fixture
def topology(name: str, tmp_path: Path) -> Topology:
    return MACHINES[name].read(tmp_path)


@EACH
def test_workers_fill_fast_cores_node_by_node_and_cache_by_cache(
    name: str, topology: Topology
) -> None:
    """Each kind, node and cache is left once: when it is full."""
    order = cpu_order(topology)
    assert sorted(order) == MACHINES[name].online
    first = order[: len(topology.cores)]
    assert len({core for core in topology.cores for cpu in first if cpu in core}) == len(first)
    for groups in (topology.numa_nodes, topology.caches, [topology.efficiency_cpus]):
        places = [next((k for k, group in enumerate(groups) if cpu in group), -1) for cpu in first]
        visited = [place for place, _ in groupby(places)]
        assert len(visited) == len(set(visited))
    slow = [cpu in topology.efficiency_cpus for cpu in first]
    assert slow == sorted(slow)


@EACH
def test_load_generators_have_cores_that_no_worker_has(name: str, topology: Topology) -> None:
    order = cpu_order(topology)
    for workers in every_count(topology):
        for generators in (1, 2, 4):
            places = apart(topology, workers, generators)
            if workers + generators > topology.usable_logical:
                assert places is None
                continue
            assert places is not None
            assert set(places.workers).isdisjoint(places.generator)
            assert len(places.generator) >= generators
            assert {cpu for (cpu,) in pinning(order, workers)} <= set(places.workers)
            if workers + generators <= topology.usable_cores:
                mine = set(places.generator)
                cores = [core for core in topology.cores if mine & set(core)]
                assert all(mine >= set(core) for core in cores)  # no worker on a sibling


def planned(
    topology: Topology,
    described: Description,
    *,
    free_bytes: float = math.inf,
    open_files: int | None = None,
    **flags: Any,
) -> Plan:
    options = flagged(study="scale", workers=("1..cores", "cpus", "2x-cpus"), **flags)
    study = study_from(options, running_build="3.14t")
    time_s = study.time_s

    make = partial(
        make_plan,
        descriptions={"3.14t": described},
        topology=topology,
        free_bytes=free_bytes,
        limits=Limits(open_files=open_files),
    )
    return make(study) if time_s is None else fitted(study, time_s, topology, make)


@pytest.mark.parametrize("name", ["smt", "two-sockets", "quota-of-4-on-96", "several-caches"])
def test_mixed_models_have_as_many_threads_a_process_as_share_a_cache_or_a_node(
    name: str, topology: Topology, described_here: Description, snapshot: SnapshotAssertion
) -> None:
    """As many as these have cores, not siblings."""
    models = ("mixed", "mixed-forked:cache", "mixed:node")
    plan = planned(topology, described_here, model=list(models), pin=True, controls=False)
    found = [(cell.model, cell.workers) for cell in plan.cells if cell.workload == "echo"]
    assert [f"{model}, N = {n}" for model, n in dict.fromkeys(found)] == snapshot
    for model, n in found:
        each = int(model.rpartition(":")[2])
        assert n % each == 0
        cpus = [cpu for (cpu,) in plan.placement(n).pinning or ()]
        caches = [{k for k, has in enumerate(topology.caches) if cpu in has} for cpu in cpus]
        if model.startswith("mixed-forked") and n <= topology.usable_cores:
            assert all(caches[at : at + each] == [caches[at]] * each for at in range(0, n, each))
    why = {each.reason for each in plan.refused if each.workload == "echo"}
    assert "N = 1 cannot be divided into processes of at most" in " ".join(why)


@EACH
def test_a_study_is_planned_pinned_and_in_turn(
    name: str, topology: Topology, described_here: Description
) -> None:
    plan = planned(topology, described_here, pin=True)
    counts = every_count(topology)
    assert {cell.workers for cell in plan.cells} == set(counts)
    for n in counts:
        placement = plan.placement(n)
        assert placement.region == topology.region(n)
        assert placement.pinning == pinning(cpu_order(topology), n)
    for group in plan.in_turn:
        (n,) = {cell.workers for cell, repeat in group.slots if not repeat}  # a gain's has another
        assert n <= MOST_PER_CPU * topology.usable_logical
    assert plan.in_turn


@pytest.mark.parametrize(
    ("name", "minutes"), [("smt", 10), ("several-caches", 10), ("two-sockets", 120)]
)
def test_a_study_that_fits_a_time_answers_the_primary_questions_first(
    name: str, minutes: int, topology: Topology, described_here: Description
) -> None:
    plan = planned(topology, described_here, time=f"{minutes}min")
    assert cost_of(plan).total_s <= (1 - RESERVE) * minutes * 60
    assert plan.study.every_block >= FEWEST_FOR_INTERVAL
    assert plan.study.blocks >= FEWEST_WHOLE
    assert plan.study.time_s is None  # a journal has what was chosen
    ran = {cell.workers for cell in plan.cells}
    assert {1, int(topology.usable_cores)} <= ran <= set(every_count(topology))
    (said, *_) = reservations(plan)
    left_out = set(every_count(topology)) - ran
    assert said.startswith(f"fitted to {minutes // 60 or minutes}")
    for n in left_out:
        assert str(n) in said
    assert ("no N left out" in said) == (not left_out)


def test_free_memory_has_no_part_in_the_choice(described_here: Description, tmp_path: Path) -> None:
    """Otherwise the same command would be another study, and resume nothing."""
    topology = MACHINES["smt"].read(tmp_path)
    roomy, tight = (
        planned(topology, described_here, free_bytes=free_bytes, time="30min")
        for free_bytes in (math.inf, 0)
    )
    assert roomy.in_turn
    assert not tight.in_turn
    assert tight.study == roomy.study
    assert tight.headline_slots == roomy.headline_slots != ()
    assert {run.key for run in tight.runs} == {run.key for run in roomy.runs}
    assert tight.fitted == roomy.fitted
    assert cost_of(tight).total_s < cost_of(roomy).total_s
