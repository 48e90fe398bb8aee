"""The load generator has a ceiling in each study, and as many processes as that and cores allow."""

from collections.abc import Mapping
from dataclasses import replace as replace_fields
from pathlib import Path
from typing import cast

import pytest
from msgspec.structs import replace

from scaling.analysis.results import StudyResults
from scaling.journal.file import JournalFile
from scaling.journal.record import CeilingLine, ParameterFacts, ParameterValue, WorkloadFacts
from scaling.machine.topology import Topology
from scaling.report.plots.caption import ceiling_text
from scaling.report.plots.draw import subjects
from scaling.run.calibrate import PROCESSES_MOST, generator_processes, measure_ceilings
from scaling.run.services import Services
from scaling.run.session import InterruptedStudyError
from scaling.study.combine import study_from
from scaling.study.options import Options
from scaling.study.plan.cells import Plan, make_plan
from scaling.study.services import LOAD_GENERATOR, SERVICES
from tests.support.descriptions import WORKLOADS, description
from tests.support.fabricate import Made, study_line
from tests.support.served import Served, studied
from workers.services.load import options

SERVE = WorkloadFacts(
    path="workers.workloads.serve:Serve",
    operation="requests",
    in_flight="connections",
    descriptors=1,
    served=True,
    parameters={
        "connections": ParameterFacts(type="int", default=16, at_least=1),
        "rate_per_s": ParameterFacts(type="float", default=0.0, at_least=0),
        "keep_alive": ParameterFacts(type="bool", default=True),
        "server": ParameterFacts(type="str", default="tcp", choices=["tcp", "aiohttp"]),
        "work_us": ParameterFacts(type="float", default=0.0, at_least=0),
    },
)


def planned(
    rates: str = "0",
    workers: str = "1,2",
    cores: int = 8,
    facts: WorkloadFacts = SERVE,
    **other: str,
) -> Plan:
    """A plan of `serve`; `other` are values of more of its parameters."""
    settings = [f"serve.rate_per_s={rates}", *(f"serve.{k}={v}" for k, v in other.items())]
    study = study_from(
        Options(
            workload=("serve",),
            arm=("3.14",),
            model=("threads",),
            loop=("asyncio",),
            workers=(workers,),
            set=tuple(settings),
            controls=False,
        ),
        running_build="3.14",
    )
    here = {"3.14": description(workloads=WORKLOADS | {"serve": facts})}
    return make_plan(study, here, machine(cores), open_files=None)


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


def processes(plan: Plan, *ceilings: CeilingLine, cores: int = 8) -> int:
    return generator_processes(plan, ceilings, machine(cores))


def test_the_highest_rate_decides() -> None:
    plan = planned(rates="1000,60000")
    assert processes(plan, ceiling(100_000)) == 2
    assert processes(plan, ceiling(200_000)) == 1
    assert processes(plan, ceiling(30_000)) == 4


def test_each_cell_has_the_ceiling_of_its_own_parameters() -> None:
    plan = planned(rates="60000", server="tcp,aiohttp")
    assert processes(plan, ceiling(200_000), ceiling(40_000, server="aiohttp")) == 3
    assert processes(plan, ceiling(200_000), ceiling(40_000, server="sanic")) == 1


def test_no_ceiling_means_one_process() -> None:
    assert processes(planned(rates="60000")) == 1
    assert processes(planned(rates="60000"), ceiling(None)) == 1


def test_a_closed_loop_has_one_for_each_worker_as_far_as_cores_go() -> None:
    assert processes(planned(workers="1,2")) == 2
    assert processes(planned(workers="1,2,4,8")) == 4  # 8 workers leave none
    assert processes(planned(workers="1,6")) == 2
    assert processes(planned(workers="1,2", cores=2), cores=2) == 1
    assert processes(planned(workers="1,2,4", cores=1), cores=1) == 1


def test_a_process_without_a_connection_is_not_planned() -> None:
    assert processes(planned(rates="60000", connections="2"), ceiling(1_000, connections=2)) == 2


def test_there_are_no_more_than_a_generator_takes() -> None:
    plan = planned(workers="1,128", cores=256, connections="200")
    assert processes(plan, cores=256) == PROCESSES_MOST == options.PROCESSES_MOST


def test_nothing_served_needs_none() -> None:
    study = study_from(Options(workload=("echo",), controls=False), running_build="3.14t")
    plan = make_plan(study, {"3.14t": description()}, machine(4))
    assert processes(plan, cores=4) == 1


class Null:
    """Measures at once and remembers with what."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, ParameterValue]]] = []
        self.ended: list[str] = []

    def ceiling(self, name: str, parameters: Mapping[str, ParameterValue]) -> CeilingLine:
        self.asked.append((name, dict(parameters)))
        return CeilingLine(service=name, parameters=dict(parameters), requests_per_s=9.0)

    def end(self, name: str) -> None:
        self.ended.append(name)


def measured(folder: Path, plan: Plan) -> Null:
    null = Null()
    with JournalFile(folder / "journal.jsonl") as journal:
        if journal.head is None:
            journal.append(study_line(Made()))
        measure_ceilings(plan, journal, cast(Services, null), pytest.fail)
    return null


def test_it_is_measured_once_for_each_set_of_parameters_that_it_depends_on(tmp_path: Path) -> None:
    plan = planned(rates="0,1000", connections="1,16", work_us="0,50")
    first = measured(tmp_path, plan)
    own = {"server": "tcp", "keep_alive": True}
    assert first.asked == [
        (LOAD_GENERATOR, {**own, "connections": 1}),
        (LOAD_GENERATOR, {**own, "connections": 16}),
    ]
    assert first.ended == [LOAD_GENERATOR] * 2  # no null server runs beside the study
    assert measured(tmp_path, plan).asked == []


def test_a_study_stopped_meanwhile_keeps_those_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = planned(connections="1,16")
    measure = Null.ceiling

    def stop(self: Null, name: str, parameters: Mapping[str, ParameterValue]) -> CeilingLine:
        if self.asked:
            raise KeyboardInterrupt
        return measure(self, name, parameters)

    monkeypatch.setattr(Null, "ceiling", stop)
    with pytest.raises(InterruptedStudyError, match="The same command goes on from there"):
        measured(tmp_path, plan)
    monkeypatch.undo()
    assert [asked["connections"] for _, asked in measured(tmp_path, plan).asked] == [16]


def test_a_workload_with_a_service_that_does_not_exist_is_refused_in_the_plan() -> None:
    plan = planned(facts=replace(SERVE, services=["cache"]))
    assert plan.cells == ()
    reasons = {each.reason for each in plan.refused}
    assert reasons == {f"it needs a service 'cache'; there are: {', '.join(SERVICES)}"}


def test_more_connections_than_the_generator_may_open_are_refused_in_the_plan() -> None:
    plan = planned(connections="100,5000", workers="1,2")
    study, here = plan.study, {"3.14": description(workloads=WORKLOADS | {"serve": SERVE})}
    made = make_plan(study, here, machine(8), open_files=6_000)
    assert [(each.parameters["connections"], each.workers) for each in made.cells] == [
        *((100, 1), (100, 2), (5000, 1)),
    ]
    (refused,) = made.refused
    assert "10,074 open files needed in one process" in refused.reason


def test_processes_that_share_no_loop_still_share_the_generator() -> None:
    study = planned(connections="5000", workers="2").study
    study = replace(study, workloads=[replace(study.workloads[0], models=["processes"])])
    here = {"3.14": description(workloads=WORKLOADS | {"serve": SERVE})}
    assert make_plan(study, here, machine(8), open_files=6_000).cells == ()


def test_the_small_print_of_a_served_workload_has_the_ceiling(tmp_path: Path) -> None:
    parameters: dict[str, ParameterValue] = {"server": "tcp", "connections": 16}
    made = replace_fields(Served(rates=(0.0,), blocks=1), parameters=parameters)
    study = studied(tmp_path, made)
    own = ceiling(61_234.0)
    own = replace(own, parameters=parameters, processes=1)
    other = replace(own, parameters={"server": "aiohttp", "connections": 16})
    (about,) = subjects(StudyResults(study.frame, study.study, [own, other])).values()
    assert ceiling_text(about.ceilings) == (
        "load generator ceiling 61,200 requests/s (server=tcp, connections=16)"
    )
