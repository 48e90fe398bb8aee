"""A study has the ceiling of each service with each set of its parameters, also when resumed."""

from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest
from msgspec.structs import replace

from scaling.journal.file import JournalFile
from scaling.journal.record import CeilingLine, ParameterFacts, ParameterValue
from scaling.machine.topology import Topology
from scaling.run.calibrate import measure_ceilings
from scaling.run.service_process import ServiceError
from scaling.run.services import Services
from scaling.study.combine import study_from
from scaling.study.options import Options
from scaling.study.plan.cells import Plan, make_plan
from tests.support.descriptions import WORKLOADS, description
from tests.support.studies import FakeStudy

STUDY = """
arms = ["3.14t"]
[[workloads]]
name = "scrape"
[workloads.parameters]
delay_ms = [0, 20]
"""
SCRAPE = replace(
    WORKLOADS["scrape"],
    parameters={
        "pages": ParameterFacts(type="int", default=10),
        "seed": ParameterFacts(type="int", default=1),
        "delay_ms": ParameterFacts(type="int", default=0),
    },
)


def planned(folder: Path) -> Plan:
    file = folder / "study.toml"
    file.write_text(STUDY)
    study = study_from(Options(study=str(file)), running_build="3.14t")
    topology = Topology(logical_cpus=2, physical_cores=2)
    return make_plan(
        study,
        {"3.14t": description(workloads=WORKLOADS | {"scrape": SCRAPE})},
        topology,
        open_files=None,
    )


class Loads:
    """Services that answer at once; `fails` names a delay with which loading them fails."""

    def __init__(self, fails: float | None = None) -> None:
        self.asked: list[ParameterValue] = []
        self._fails = fails

    def need(self, name: str, parameters: Mapping[str, ParameterValue]) -> list[str]:
        return [f"http://{name}/{parameters['delay_ms']}"]

    def ceiling(self, name: str, parameters: Mapping[str, ParameterValue]) -> CeilingLine:
        self.asked.append(parameters["delay_ms"])
        if parameters["delay_ms"] == self._fails:
            raise ServiceError("it did not answer")
        return CeilingLine(service=name, parameters=dict(parameters), requests_per_s=9.0)


def opened(folder: Path) -> JournalFile:
    journal = JournalFile(folder / "journal.jsonl")
    if journal.head is None:
        journal.append(FakeStudy().first_line)
    return journal


def measured(
    folder: Path, loads: Loads, notes: list[str] | None = None
) -> list[dict[str, ParameterValue]]:
    with opened(folder) as journal:
        note = notes.append if notes is not None else pytest.fail
        measure_ceilings(planned(folder), journal, cast(Services, loads), note)
        return [each.parameters for each in journal.ceilings]


def test_each_set_of_parameters_has_its_own(tmp_path: Path) -> None:
    found = measured(tmp_path, Loads())
    assert [each["delay_ms"] for each in found] == [0, 20]
    assert all(each.keys() == {"pages", "seed", "delay_ms"} for each in found)


def test_an_interrupted_study_measures_only_what_it_lacks(tmp_path: Path) -> None:
    notes: list[str] = []
    measured(tmp_path, Loads(fails=20), notes)
    assert notes == ["it did not answer"]
    again = Loads()
    assert len(measured(tmp_path, again)) == 2
    assert again.asked == [20]
    done = Loads()
    measured(tmp_path, done)
    assert done.asked == []
