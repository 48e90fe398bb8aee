"""A study has the ceiling of each service with each set of its parameters, also when resumed.

The load generator is one of them: it has as many processes as its ceiling and the cores allow.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace

from scaling.journal.record import CeilingLine, ParameterFacts, ParameterValue
from scaling.machine.topology import Topology
from scaling.run.ceilings import PROCESSES_MOST, generator_processes, measure_ceilings
from scaling.run.service_process import ServiceError
from scaling.run.services import Services
from scaling.run.session import InterruptedStudyError
from scaling.study.plan.cells import Plan
from scaling.study.services import LOAD_GENERATOR
from tests.support.descriptions import SCRAPE, SERVE
from tests.support.driving import opened
from tests.support.plans import planned
from workers.services.load import options

DELAYED = replace(
    SCRAPE,
    parameters={
        "pages": ParameterFacts(type="int", default=10),
        "seed": ParameterFacts(type="int", default=1),
        "delay_ms": ParameterFacts(type="int", default=0),
    },
)


def serving(
    rates: str = "0",
    workers: str = "1,2",
    cores: int = 8,
    model: str = "threads",
    open_files: int | None = None,
    **other: str,
) -> Plan:
    """A plan of `serve`; `other` are values of more of its parameters."""
    settings = [f"serve.rate_per_s={rates}", *(f"serve.{k}={v}" for k, v in other.items())]
    return planned(
        "[[workloads]]\nname = 'serve'",
        workloads={"serve": SERVE},
        arm=("3.14",),
        model=(model,),
        loop=("asyncio",),
        workers=(workers,),
        set=tuple(settings),
        topology=machine(cores),
        limits={"open_files": open_files},
    )


def machine(cores: int) -> Topology:
    return Topology(
        logical_cpus=cores,
        physical_cores=cores,
        cores=tuple((cpu,) for cpu in range(cores)),
        affinity=tuple(range(cores)),
    )


def ceiling(per_s: float | None, **parameters: ParameterValue) -> CeilingLine:
    measured_with = {"server": "tcp", "connections": 16, "keep_alive": True, **parameters}
    return CeilingLine(service=LOAD_GENERATOR, parameters=measured_with, requests_per_s=per_s)


OF_BOTH = {"rates": "60000", "server": "tcp,aiohttp"}
HIGH = ceiling(200_000)


@pytest.mark.parametrize(
    ("asked", "ceilings", "expected"),
    [
        ({"rates": "1000,60000"}, [ceiling(100_000)], 2),  # the highest rate decides
        ({"rates": "1000,60000"}, [HIGH], 1),
        ({"rates": "1000,60000"}, [ceiling(30_000)], 4),
        (OF_BOTH, [HIGH, ceiling(40_000, server="aiohttp")], 3),  # that of its parameters
        (OF_BOTH, [HIGH, ceiling(40_000, server="sanic")], 1),
        ({"rates": "60000"}, [], 1),
        ({"rates": "60000"}, [ceiling(None)], 1),
        ({"rates": "60000", "connections": "2"}, [ceiling(1_000, connections=2)], 2),
        ({"workers": "1,2"}, [], 2),  # a closed loop: as many as workers and cores left
        ({"workers": "1,2,4,8"}, [], 4),
        ({"workers": "1,6"}, [], 2),
        ({"workers": "1,2", "cores": 2}, [], 1),
        ({"workers": "1,128", "cores": 256, "connections": "200"}, [], PROCESSES_MOST),
    ],
)
def test_a_generator_has_as_many_processes_as_its_ceiling_and_the_cores_allow(
    asked: dict[str, Any], ceilings: list[CeilingLine], expected: int
) -> None:
    found = generator_processes(serving(**asked), ceilings, machine(asked.get("cores", 8)))
    assert found == expected
    assert PROCESSES_MOST == options.PROCESSES_MOST


class Loads:
    """Services that are measured at once; after the first `works` each measurement `fails`."""

    def __init__(self, fails: BaseException | None = None, works: int = 1) -> None:
        self.asked: list[tuple[str, dict[str, ParameterValue]]] = []
        self.ended: list[str] = []
        self._fails, self._works = fails, works

    def need(self, name: str, parameters: Mapping[str, ParameterValue]) -> list[str]:
        return [f"http://{name}/{parameters['delay_ms']}"]

    def ceiling(self, name: str, parameters: Mapping[str, ParameterValue]) -> CeilingLine:
        self.asked.append((name, dict(parameters)))
        if self._fails and len(self.asked) > self._works:
            raise self._fails
        return CeilingLine(service=name, parameters=dict(parameters), requests_per_s=9.0)

    def end(self, name: str) -> None:
        self.ended.append(name)


def measured(
    folder: Path, plan: Plan, loads: Loads, notes: list[str] | None = None
) -> list[dict[str, ParameterValue]]:
    """The parameters of the ceilings that are in the journal then."""
    with opened(folder / "journal.jsonl") as journal:
        note = pytest.fail if notes is None else notes.append
        measure_ceilings(plan, journal, cast(Services, loads), note)
        return [each.parameters for each in journal.ceilings]


def test_a_service_has_one_for_each_set_of_its_parameters_and_a_resumed_study_what_it_lacks(
    tmp_path: Path,
) -> None:
    plan = planned(
        "[[workloads]]\nname = 'scrape'\nparameters.delay_ms = [0, 20]",
        workloads={"scrape": DELAYED},
    )
    notes: list[str] = []
    measured(tmp_path, plan, Loads(fails=ServiceError("it did not answer")), notes)
    assert notes == ["it did not answer"]
    again, done = Loads(), Loads()
    found = measured(tmp_path, plan, again)
    assert [each["delay_ms"] for each in found] == [0, 20]
    assert all(each.keys() == {"pages", "seed", "delay_ms"} for each in found)
    assert [parameters["delay_ms"] for _, parameters in again.asked] == [20]
    measured(tmp_path, plan, done)
    assert done.asked == []


def test_a_generator_has_one_for_each_set_of_parameters_that_it_depends_on(tmp_path: Path) -> None:
    plan, first = serving(rates="0,1000", connections="1,16", work_us="0,50"), Loads()
    measured(tmp_path, plan, first)
    own = {"server": "tcp", "keep_alive": True}
    assert first.asked == [(LOAD_GENERATOR, {**own, "connections": n}) for n in (1, 16)]
    assert first.ended == [LOAD_GENERATOR] * 2  # no null server runs beside the study


def test_a_study_stopped_meanwhile_keeps_those_before(tmp_path: Path) -> None:
    plan, again = serving(connections="1,16"), Loads()
    with pytest.raises(InterruptedStudyError, match="The same command goes on from there"):
        measured(tmp_path, plan, Loads(fails=KeyboardInterrupt()))
    measured(tmp_path, plan, again)
    assert [parameters["connections"] for _, parameters in again.asked] == [16]


def test_more_connections_than_the_generator_may_open_are_refused_in_the_plan() -> None:
    """Processes that share no loop still share the generator."""
    made = serving(connections="100,5000", open_files=6_000)
    assert [(each.parameters["connections"], each.workers) for each in made.cells] == [
        *((100, 1), (100, 2), (5000, 1))
    ]
    (refused,) = made.refused
    assert "10,074 open files needed in one process" in refused.reason
    of_processes = serving(connections="5000", workers="2", model="processes", open_files=6_000)
    assert of_processes.cells == ()
