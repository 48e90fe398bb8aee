"""A journal is gone on with only if study, machine, builds and pins are the same; then always."""

import copy
import pickle
from typing import Any

import pytest
from msgspec.structs import replace

from scaling.builds.arms import parse_arm
from scaling.journal.identity import Identity, identity, identity_of
from scaling.journal.record import (
    SCHEMA,
    ArmRecord,
    Cell,
    Environment,
    Machine,
    PythonFacts,
    StudyLine,
    decode_line,
    encode_line,
)
from scaling.machine.topology import Topology
from scaling.study.combine import study_from
from scaling.study.file import read_study
from scaling.study.options import Options
from scaling.study.plan.cells import make_plan
from tests.support.descriptions import description

TWO_CORES = Topology(logical_cpus=2, physical_cores=2)
BUILD = ArmRecord(
    build="3.14t",
    description=Environment(python=PythonFacts(version="3.14.7", free_threaded=True)),
    expected=parse_arm("3.14t").expected,
)
MACHINE = Machine(id="0" * 32, cpu_model="A processor", memory_bytes=1000)


def document(options: Options, text: str = "") -> dict[str, Any]:
    """The settled study, as the journal keeps it."""
    text += "[[workloads]]\nname = 'echo'"
    study = study_from(
        options, running_build="3.14t", load_file=lambda name: read_study(text, name)
    )
    return make_plan(study, {"3.14t": description()}, TWO_CORES).study.document


def made(**changed: Any) -> Identity:
    parts: dict[str, Any] = {
        "study": document(Options()),
        "machine": MACHINE,
        "arms": {"3.14t": BUILD},
        "pins": "aa",
        "workers_source": "bb",
    }
    return identity(**(parts | changed))


def test_two_ways_of_asking_for_one_study_are_one_study() -> None:
    by_flags = document(Options(workers=("4", "2,1"), loop=("asyncio",), preset="default"))
    by_file = document(Options(), "workers = [1, 2, 4]\n")
    by_topology = document(Options())
    assert by_flags == by_file == by_topology


def test_a_study_is_recognised_through_its_journal() -> None:
    before = made()
    line = StudyLine(
        schema=SCHEMA,
        name="scale",
        machine=MACHINE,
        study=document(Options()),
        arms={"3.14t": BUILD},
        pins="aa",
        workers_source="bb",
    )
    read = decode_line(encode_line(line))
    assert isinstance(read, StudyLine)
    assert identity_of(read).fingerprint == before.fingerprint
    assert identity_of(read).differences(before) == ()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"study": document(Options(seed=2, blocks=9))}, "the study (blocks, seed)"),
        ({"machine": replace(MACHINE, id="1" * 32)}, "the machine (id)"),
        ({"machine": replace(MACHINE, kernel="Linux 7")}, "the machine (kernel)"),
        ({"arms": {"3.14t": replace(BUILD, description=None)}}, "the builds (3.14t)"),
        ({"pins": "cc"}, "the pinned packages"),
        ({"workers_source": "cc"}, "the source of the workers"),
    ],
)
def test_what_is_not_the_same_is_named(changed: dict[str, Any], said: str) -> None:
    assert made(**changed).fingerprint != made().fingerprint
    (difference,) = made(**changed).differences(made())
    assert difference == said


def test_memory_that_a_reboot_counts_a_little_differently_makes_no_other_machine() -> None:
    again = made(machine=replace(MACHINE, memory_bytes=999))
    assert again.fingerprint == made().fingerprint


def test_a_cell_is_known_by_what_it_measures_and_not_by_where() -> None:
    cell = Cell(workload="echo", loop="asyncio", arm="3.14t", model="threads", workers=2)
    elsewhere = replace(cell, region="smt")
    assert cell == elsewhere
    assert {cell: "known"}[elsewhere] == "known"
    for other in (
        replace(cell, workers=4),
        replace(cell, parameters={"connections": 8}),
        replace(cell, sizing="strong"),
    ):
        assert other != cell


def test_a_cell_of_another_process_is_the_same() -> None:
    cell = Cell(workload="echo", loop="asyncio", arm="3.14t", model="threads", workers=2)
    cell = replace(cell, parameters={"connections": 8, "ratio": 1.0})
    for other in (pickle.loads(pickle.dumps(cell)), copy.deepcopy(cell)):  # our own
        assert {cell: "known"}[other] == "known"
    assert cell != replace(cell, parameters={"connections": 8, "ratio": 1})


def test_the_order_in_which_parameters_stand_makes_no_other_cell() -> None:
    cell = Cell(workload="echo", loop="asyncio", arm="3.14t", model="threads", workers=2)
    one = replace(cell, parameters={"a": 1, "b": 2.0})
    other = replace(cell, parameters={"b": 2.0, "a": 1})
    assert one == other
