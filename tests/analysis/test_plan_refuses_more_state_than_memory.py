"""More data than the machine has memory for is refused by the plan, which names the limit."""

import msgspec
import pytest

from scaling.journal.record import Holds, ParameterFacts
from scaling.machine.topology import Topology
from scaling.study.combine import study_from
from scaling.study.file import read_study
from scaling.study.options import Options
from scaling.study.plan.cells import Plan, make_plan
from scaling.study.plan.groups import memory_bytes
from scaling.study.plan.refusals import held_bytes, too_much_memory
from tests.support.cli import BUILD, Command
from tests.support.descriptions import COMPUTE, description

GIB = 1 << 30
STATE = msgspec.structs.replace(
    COMPUTE,
    path="workers.workloads.state:State",
    alone=None,
    parameters={
        "kind": ParameterFacts(type="str", default="dicts", choices=["dicts", "array"]),
        "made_by": ParameterFacts(type="str", default="process", choices=["process", "loop"]),
        "objects": ParameterFacts(type="int", default=1000, at_least=1),
    },
    holds=Holds(
        what="state",
        count="objects",
        by="kind",
        bytes_each={"dicts": 1024, "array": 16},
        own_copies={"made_by": "loop"},
    ),
)
ARMS = ("3.14t", "3.14t+columns", "3.14t+own-data")


def plan(
    *, objects: int = 1 << 20, memory_gib: float = 24, free_gib: float = 12, workers: str = "[2]"
) -> Plan:
    text = f"""
    models = ["threads", "processes", "forked"]
    workers = {workers}
    [[workloads]]
    name = "state"
    parameters.objects = {objects}
    """
    study = study_from(
        Options(arm=ARMS, controls=False, aa_pairs=False),
        running_build="3.14t",
        load_file=lambda name: read_study(text, f"{name}.toml"),
    )
    return make_plan(
        study,
        dict.fromkeys(ARMS, description(workloads={"state": STATE})),
        Topology(logical_cpus=2),
        memory_bytes=memory_gib * GIB,
        free_bytes=free_gib * GIB,
    )


def test_what_a_cell_keeps_follows_from_who_shares_it() -> None:
    held = {
        (cell.arm, cell.model): (needs - memory_bytes(cell, STATE)) / GIB
        for cell, needs in plan().needs.items()
    }
    assert held == {
        ("3.14t", "threads"): 1,
        ("3.14t", "processes"): 2,
        ("3.14t", "forked"): 3,
        ("3.14t+columns", "threads"): 1 / 64,
        ("3.14t+columns", "processes"): 2 / 64,
        ("3.14t+columns", "forked"): 3 / 64,
        ("3.14t+own-data", "threads"): 2,
        ("3.14t+own-data", "forked"): 2,
    }


def test_what_does_not_fit_is_left_out_with_the_limit() -> None:
    made = plan(objects=10 << 20, memory_gib=26)
    assert ("3.14t", "forked") not in {(each.arm, each.model) for each in made.cells}
    (refused,) = (each for each in made.refused if "needs" in each.reason)
    assert (refused.arm, refused.model) == ("3.14t", "forked")
    assert refused.reason == (
        "2 workers: the state needs up to 30.0 GiB (3 × 10.0 GiB), and the limit is 20.8 GiB, "
        "80 % of the memory here"
    )


def test_a_service_keeps_one_copy_for_all() -> None:
    assert STATE.holds
    holds = msgspec.structs.replace(STATE.holds, in_service={"kind": "array"})
    facts = msgspec.structs.replace(STATE, holds=holds)
    for cell in plan().cells:
        held = {
            kind: held_bytes(facts, cell, {"objects": 100, "kind": kind})
            for kind in ("dicts", "array")
        }
        assert held["array"] == 1600
        copies = {"threads": 1, "processes": 2, "forked": 3}[cell.model]
        assert held["dicts"] == copies * 102_400
    (first, *_) = plan().cells
    refused = too_much_memory(facts, first, {"objects": 1 << 30, "kind": "array"}, GIB)
    assert "(1 × 16.0 GiB)" in (refused or "")


@pytest.mark.slow
def test_a_control_group_may_allow_less_than_the_machine_has(
    monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    asked = ("plan", "--arm", BUILD, "--workload", "state", "--no-controls")
    assert command(*asked).returncode == 0
    monkeypatch.setattr("scaling.run.measure.memory_limit_bytes", lambda: float(1 << 20))
    limited = command(*asked)
    assert limited.returncode == 2
    assert "of the memory here" in limited.stderr


def test_the_number_of_workers_decides() -> None:
    made = plan(objects=10 << 20, workers="[1, 2]", memory_gib=26)
    assert [
        each.workers for each in made.cells if (each.arm, each.model) == (ARMS[0], "forked")
    ] == [1]


def test_cells_that_are_alive_at_once_fit_into_free_memory() -> None:
    largest = []
    for free_gib in (1000, 6, 3):
        made = plan(free_gib=free_gib)
        assert all(
            sum(made.needs[cell] for cell in group) <= free_gib * GIB for group in made.groups
        )
        largest.append(max(map(len, made.groups)))
    assert largest[0] > largest[1] > largest[2]
