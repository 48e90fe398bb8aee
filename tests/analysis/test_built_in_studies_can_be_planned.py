"""Every built-in study fits what the children really offer, and keeps to its time."""

from itertools import product

import pytest

from scaling.builds.runtimes import RUNTIMES
from scaling.journal.record import Description
from scaling.machine.topology import Topology
from scaling.run.time_left import SHARE
from scaling.study.file import DEFAULT_STUDY, built_in_studies, study_from
from scaling.study.plan.cells import Plan, make_plan
from scaling.study.plan.table import cost_of
from scaling.study.presets import FEWEST_FOR_INTERVAL
from tests.support.plans import TWO_CORES, flagged

# What a study asks for though it cannot be had today, so that the plan says why.
REFUSED = {
    "remedies": {("echo", "threads", "asyncio")},  # settings for other workloads
    "compare": {("echo", "interpreters", "uvloop"), ("scrape", "interpreters", "asyncio")},
    "sharing": {("shared", "threads", "asyncio")},
    "state": {("state", "forked", "asyncio")},  # a data frame: NumPy starts threads
    # Servers and a driver that do not run here; applications of Sanic in threads of one process.
    "stack-2020": {("web", "processes", "asyncio")},
    "stack-fair": {("web", "processes", "asyncio"), ("web", "threads", "asyncio")},
}


def planned(name: str, described: Description, preset: str | None = None) -> Plan:
    """The study on two cores, where every build offers the same and no other runtime is there."""
    study = study_from(flagged(study=name, preset=preset), running_build="3.14t")
    return make_plan(study, dict.fromkeys(study.arms, described), TWO_CORES)


@pytest.mark.slow
@pytest.mark.parametrize("name", built_in_studies())
def test_a_built_in_study_can_be_planned(name: str, described_here: Description) -> None:
    made = planned(name, described_here)
    made.require_cells()
    refused = {
        (each.workload, each.model, each.loop): each.reason
        for each in made.refused
        if not RUNTIMES.keys() >= {*each.arms}
    }
    assert set(refused) == REFUSED.get(name, set())
    assert all(refused.values())


# Minutes of the blocks, and of a whole session with --preset smoke.
MINUTES = {
    **dict.fromkeys(("latency", "tail", "serve", "sync-or-async"), (45, 5.5)),
    "gateway": (60, 10),
    "primitives": (25 / (1 + SHARE), 6 + 1 / 3),
}


@pytest.mark.parametrize("name", MINUTES)
def test_a_study_takes_so_long_and_its_smoke_a_few_minutes(
    name: str, described_here: Description
) -> None:
    default, smoke = (planned(name, described_here, preset) for preset in ("default", "smoke"))
    # A smoke shows shapes: too few blocks for a verdict.
    assert default.study.blocks >= FEWEST_FOR_INTERVAL > smoke.study.blocks
    minutes, of_smoke = MINUTES[name]
    assert cost_of(default).total_s < 60 * minutes
    assert session_s(smoke) < 60 * of_smoke
    assert {cell.model for cell in smoke.cells} == {cell.model for cell in default.cells}


def session_s(plan: Plan) -> float:
    """Plots, the site's ceiling, descriptions and disturbed runs count, too."""
    return (1 + SHARE) * cost_of(plan).total_s + 20


def scale(described: Description, topology: Topology) -> Plan:
    study = study_from(flagged(study=DEFAULT_STUDY, preset="smoke"), running_build="3.14t")
    return make_plan(study, {"3.14t": described}, topology)


@pytest.mark.parametrize(
    ("topology", "up_to_cpus", "beside", "more_than_cpus"),
    [
        (TWO_CORES, {1, 2}, {1, 2}, 4),
        (Topology(logical_cpus=16, physical_cores=8), {1, 2, 4, 8, 16}, {1, 8, 16}, 32),
    ],
)
def test_scale_has_processes_on_the_same_build_beside_threads(
    described_here: Description,
    topology: Topology,
    up_to_cpus: set[int],
    beside: set[int],
    more_than_cpus: int,
) -> None:
    """With more workers than CPUs there is one cell, not one for each workload and loop."""
    cells = scale(described_here, topology).cells
    assert {cell.arm for cell in cells} == {"3.14t"}
    for workload, loop in product(["echo", "stream", "scrape"], ["asyncio", "uvloop"]):
        own = [cell for cell in cells if (cell.workload, cell.loop) == (workload, loop)]
        threads = {cell.workers for cell in own if cell.model == "threads"}
        assert threads - {more_than_cpus} == up_to_cpus
        assert {cell.workers for cell in own if cell.model == "processes"} == beside
    assert [cell.workers for cell in cells].count(more_than_cpus) == 1


def test_scale_is_done_in_about_five_minutes_on_two_cores_and_has_intervals(
    described_here: Description,
) -> None:
    plan = scale(described_here, TWO_CORES)
    assert plan.study.blocks >= FEWEST_FOR_INTERVAL
    assert session_s(plan) < 330
