"""Every built-in study fits what the children really offer; those of the seeds ask what they asked.

And `scale` keeps to its time.
"""

from collections.abc import Mapping
from itertools import product

import pytest

from scaling.base.errors import UsageError
from scaling.builds.runtimes import OWN_LOOP, RUNTIMES
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

# What each source measured, by our parameters: some cell of its study must have all of them.
ASKED: dict[str, list[tuple[str, Mapping[str, object]]]] = {
    "quansight-2025": [
        ("stream", {"connections": 1, "write_bytes": 10 * 2**20}),
        *(("scrape", {"pages": 100, "delay_ms": delay}) for delay in (0, 20, 50)),
    ],
    "async-1m-io": [
        *(
            (
                "sleep",
                {
                    "sleeps": 10**6,
                    "sleeps_in_flight": n,
                    "pause_ms": 1,
                    "fail_every": 1000,
                    "tasks": "each",
                },
            )
            for n in (10_000, 100_000, 1_000_000)
        ),
        *(
            ("fetch", {"requests": 10**6, "requests_in_flight": 5_000, "timed": timed})
            for timed in (False, True)
        ),
        ("fetch", {"delay_ms": 10, "body_bytes": 1024, "timeout_s": 10}),
        ("cancel", {"tasks": 10**6, "batch": 10_000}),
        *(("lifecycle", {"runs": 1000, "pause_s": 0.001, "way": way}) for way in ("run", "runner")),
        *(
            ("gather", {"fan_out": 1000, "pause_ms": 1, "join": join})
            for join in ("TaskGroup", "gather", "wait")
        ),
    ],
    "task-overhead": [
        ("spawn", {"tasks": n, "join": "wait", "pause_ms": 0, "factory": "lazy"})
        for n in range(100_000, 1_000_001, 100_000)
    ],
    "switches": [("sleep", {"sleeps": 200_000, "pause_ms": 1}), ("echo", {})],
    "tls": [("echo", {"payload_bytes": 256, "tls": tls}) for tls in ("off", "per-worker")],
    "async-tools": [
        ("spawn", {"pause_ms": 0.5}),
        *(
            (
                "sleep",
                {
                    "sleeps": 200 * 200,
                    "sleeps_in_flight": 200,
                    "pauses": "exponential",
                    "pause_ms": 5,
                    "fail_every": 0,
                    "timed": timed,
                },
            )
            for timed in (False, True)
        ),
        ("cancel", {"tasks": 5000, "batch": 5000, "after_ms": 50}),
    ],
    "stack-2020": [
        ("web", {"keep_alive": False, "pooler": "pgbouncer", **asked})
        for asked in (
            {"proxy": "nginx", "stack": "flask/gunicorn-sync", "pool_per_worker": 4},
            {"proxy": "nginx", "stack": "starlette/uvicorn", "pool_per_worker": 10},
            {"proxy": "nginx", "stack": "aiohttp/gunicorn-aiohttp"},
            {"stack": "starlette/uvicorn"},
        )
    ],
    "sharing": [
        ("shared", {"sharing": rung})
        for rung in ("nothing", "global", "value", "attribute-read", "attribute-write", "lock")
    ],
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


@pytest.mark.slow
@pytest.mark.usefixtures("machine_with_nothing")
def test_without_its_programs_a_study_says_what_to_install(described_here: Description) -> None:
    whole, fair = (planned(name, described_here) for name in ("stack-2020", "stack-fair"))
    reasons = {each.reason for made in (whole, fair) for each in made.refused}
    assert "nginx is not on PATH: install the package nginx" in reasons
    assert "pgbouncer is not on PATH: install the package pgbouncer" in reasons
    with pytest.raises(UsageError, match=r"install the package (nginx|pgbouncer)"):
        whole.require_cells()
    assert fair.cells  # it has cells without a proxy


@pytest.mark.parametrize("name", ASKED)
def test_a_study_has_the_parameters_of_its_source(name: str, described_here: Description) -> None:
    had = [(cell.workload, cell.parameters.items()) for cell in planned(name, described_here).cells]
    for workload, asked in ASKED[name]:
        assert any(workload == w and asked.items() <= parameters for w, parameters in had), asked


def test_libraries_are_compared_with_each_other_in_all_that_they_share(
    described_here: Description,
) -> None:
    loops = ["asyncio", "uvloop", "trio", "anyio/asyncio", "anyio/trio"]
    ran = {(cell.workload, cell.loop) for cell in planned("async-tools", described_here).cells}
    assert set(product(["spawn", "sleep", "cancel"], loops)) < ran


def test_other_runtimes_are_asked_for_on_their_own_loop_and_python_is_not(
    described_here: Description,
) -> None:
    made = planned("task-overhead", described_here)
    assert {cell.arm for cell in made.cells} == {"3.14t"}
    assert {(arm, each.loop) for each in made.refused for arm in each.arms} == {
        (r, OWN_LOOP) for r in RUNTIMES
    }


# Minutes of the blocks, and of a whole session with --preset smoke.
MINUTES = {
    **dict.fromkeys(("latency", "slo", "tail", "accept", "serve", "sync-or-async"), (45, 5.5)),
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


def test_primitives_has_every_row(described_here: Description) -> None:
    made = planned("primitives", described_here)
    rows = described_here.workloads["primitives"].parameters["primitive"].choices
    assert rows
    for model in ("threads", "processes"):
        own = [each.parameters.get("primitive") for each in made.cells if each.model == model]
        assert [name for name in dict.fromkeys(own) if name] == rows


def test_the_peak_of_the_gateway_is_not_that_of_the_service_downstream(
    described_here: Description,
) -> None:
    """With 32 connections for each worker, which wait 20 ms each, it would be, on any machine."""
    (calibration,) = planned("gateway", described_here, "smoke").calibrations
    for cell in calibration.candidates:
        assert {"connections": 128, "deadline_ms": 0}.items() <= cell.parameters.items()
        assert cell.parameters["delay_ms"] == 20.0


def scale(described: Description, topology: Topology) -> Plan:
    study = study_from(flagged(study=DEFAULT_STUDY, preset="smoke"), running_build="3.14t")
    return make_plan(study, {"3.14t": described}, topology)


@pytest.mark.parametrize(
    ("topology", "up_to_cpus", "beside", "more_than_cpus"),
    [
        (TWO_CORES, {1, 2}, {1, 2}, 4),
        (Topology(logical_cpus=2, physical_cores=1), {1, 2}, {1, 2}, 4),
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
