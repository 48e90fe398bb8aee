"""What needs more memory or open files than there are is left out by the plan, with the reason.

Within the limit of open files nothing has to be done beforehand: children and helpers raise theirs.
"""

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from scaling.journal.record import (
    Cell,
    Holds,
    ParameterFacts,
    ParameterValue,
    Record,
    WorkloadFacts,
    decode_record,
)
from scaling.machine.limits import open_files_limit
from scaling.study.plan.cells import Plan
from scaling.study.plan.groups import memory_bytes
from scaling.study.plan.refusals import (
    Candidate,
    Limits,
    open_files_needed,
    unfit_here,
)
from scaling.study.services import SERVICES
from tests.support.children import PATIENCE_S, QUICK, environment
from tests.support.cli import BUILD, Command
from tests.support.descriptions import COMPUTE, ECHO
from tests.support.plans import ECHO_FILE, planned

GIB = 1 << 30
HARD = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
EACH = SERVICES["responder"].workers_each

# --- memory -------------------------------------------------------------------------------------

STATE = replace(
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


def of_state(
    *, objects: int = 1 << 20, memory_gib: float = 24, free_gib: float = 12, workers: str = "2"
) -> Plan:
    return planned(
        f"[[workloads]]\nname = 'state'\nparameters.objects = {objects}",
        workloads={"state": STATE},
        arm=ARMS,
        model=("threads,processes,forked",),
        workers=(workers,),
        aa_pairs=False,
        limits={"memory_bytes": memory_gib * GIB, "free_bytes": free_gib * GIB},
    )


def test_what_a_cell_keeps_follows_from_who_shares_it(snapshot: SnapshotAssertion) -> None:
    held = {
        f"{cell.arm} {cell.model}, GiB": (needs - memory_bytes(cell, STATE)) / GIB
        for cell, needs in of_state().needs.items()
    }
    assert held == snapshot


def test_data_that_does_not_fit_is_left_out_with_the_limit() -> None:
    made = of_state(objects=10 << 20, memory_gib=26, workers="1,2")
    forked = [cell for cell in made.cells if (cell.arm, cell.model) == ("3.14t", "forked")]
    assert [cell.workers for cell in forked] == [1]
    (refused,) = (each for each in made.refused if "needs" in each.reason)
    assert (refused.arms, refused.model) == (("3.14t",), "forked")
    assert refused.reason == (
        "2 workers: the state needs up to 30.0 GiB (3 × 10.0 GiB), and the limit is 20.8 GiB, "
        "80 % of the memory here"
    )


def test_cells_that_are_alive_at_once_fit_into_free_memory() -> None:
    largest = []
    for free_gib in (1000, 6, 3):
        made = of_state(free_gib=free_gib)
        for group in made.in_turn:
            assert sum(made.needs[slot.cell] for slot in group.slots) <= free_gib * GIB
        largest.append(max(len(group.slots) for group in made.in_turn))
    assert largest[0] > largest[1] > largest[2]


# --- open files ---------------------------------------------------------------------------------

PAIRS = replace(ECHO, descriptors=2, refusals=[])
SERVED = replace(PAIRS, descriptors=1, services=["responder"])


def cell(workers: int, model: str = "threads") -> Cell:
    return Cell(
        workload="echo", loop="asyncio", arm="3.14t", model=model, workers=workers,
        parameters={"connections": 100},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("sizing", "open_files", "fits"),
    [
        ("weak", 5000, {"threads": [1, 2], "processes": [1, 2, 4]}),
        ("weak", None, {"threads": [1, 2, 4], "processes": [1, 2, 4]}),
        ("strong", 5000, {"threads": [], "processes": [2, 4]}),
    ],
)
def test_what_fits_is_planned_and_what_does_not_is_left_out_with_the_reason(
    sizing: str, open_files: int | None, fits: dict[str, list[int]]
) -> None:
    made = planned(
        f"{ECHO_FILE}parameters = {{ connections = 1000 }}",
        workloads={"echo": PAIRS},
        model=("threads,processes",),
        workers=("1,2,4",),
        sizing=(sizing,),
        limits={"open_files": open_files},
    )
    assert fits == {
        model: [cell.workers for cell in made.cells if cell.model == model] for model in fits
    }
    assert len(made.refused) == 6 - len(made.cells)
    if made.refused:
        assert made.refused[-1].reason.endswith("and this system allows 5,000 (ulimit -Hn)")
    if sizing == "weak" and open_files:
        assert made.refused[0].reason.startswith(
            "4 workers: 8,098 open files needed in one process"
        )


@pytest.mark.parametrize(
    ("workload", "model", "workers", "processes_worth"),
    [
        (PAIRS, "threads", 8, 8),
        (PAIRS, "processes", 8, 1),
        (SERVED, "threads", 8, 8),
        (SERVED, "processes", 8, EACH),  # a process of the helper's serves so many workers
    ],
)
def test_the_fullest_process_counts(
    workload: WorkloadFacts, model: str, workers: int, processes_worth: int
) -> None:
    alone = open_files_needed(Candidate(cell(1), workload, {}, 100))
    needed = open_files_needed(Candidate(cell(workers, model), workload, {}, 100 * workers))
    each = 100 * workload.descriptors
    assert (processes_worth - 1) * each <= needed - alone < processes_worth * each


def test_connections_have_a_port_each_and_are_not_too_many() -> None:
    served, limits = replace(SERVED, served=True), Limits(ports=1500)

    def too_few(workers: int, **parameters: ParameterValue) -> str | None:
        asked = replace(cell(workers), parameters=parameters)
        return unfit_here(Candidate(asked, served, {}, workers * 1000, limits))

    assert too_few(2, accept="port") is too_few(1, accept="shared") is None
    assert too_few(2, accept="shared", room=10) is None
    assert too_few(2, accept="shared") == (
        "2 workers: 2,000 connections needed to one port, and this system allows 1,500 "
        "(net.ipv4.ip_local_port_range, 1 of its addresses)"
    )
    connections = replace(SERVED.parameters["connections"], at_most=100_000)
    few = replace(served, parameters={"connections": connections})
    assert unfit_here(Candidate(cell(2), few, {}, 100_000)) is None
    assert unfit_here(Candidate(cell(2), few, {}, 100_001))
    assert unfit_here(Candidate(cell(2), replace(few, served=False), {}, 100_001)) is None


def limited(limits: str, command: list[str]) -> list[str]:
    """A command that runs under these limits, such as `-n 100` (hard and soft) or `-Sn 100`."""
    return ["sh", "-c", f'ulimit {limits}; exec "$@"', "sh", *command]


def child(limits: str, model: str) -> Record:
    """Two workers with 100 connections each, under these limits."""
    asked = {"workload": "echo", "model": model, "workers": 2, "parameters": {"connections": 100}}
    done = subprocess.run(
        limited(limits, [sys.executable, "-m", "workers"]),
        input=json.dumps({**QUICK, **asked}),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env=environment(),
    )
    return decode_record(done.stdout)


@pytest.mark.slow
def test_what_is_said_to_be_needed_is_enough_and_less_is_not() -> None:
    """The soft limit is no limit: a child raises its own, and records it."""
    for model in ("threads", "processes"):
        enough = open_files_needed(Candidate(cell(2, model), PAIRS, {}, 200))
        assert child(f"-n {enough}", model).outcome == "measured"
    failure = child("-n 390", "threads").failure  # 400 sockets
    assert failure is not None
    assert "Too many open files" in failure.error
    raised = child("-Sn 100", "threads")
    assert (raised.outcome, raised.process.open_files_limit) == ("measured", HARD)


# --- both, from the machine ---------------------------------------------------------------------


@pytest.mark.slow
def test_the_plan_has_the_limits_of_the_machine(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The hard limit of open files counts. A control group may allow less memory than there is."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (500, 1000))
    monkeypatch.setattr("scaling.run.prepare.memory_limit_bytes", lambda: float(1 << 20))
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "many.toml").write_text(
        'controls = false\nworkers = [1]\nloops = ["asyncio"]\n'
        '[[workloads]]\nname = "echo"\nparameters = { connections = 1000 }\n'
        '[[workloads]]\nname = "echo"\n[[workloads]]\nname = "state"\n'
    )
    done = command("plan", "--arm", BUILD, "--study", "many.toml")
    assert done.returncode == 0, done.stderr
    assert "1 worker: 2,062 open files needed" in done.stdout
    assert "allows 1,000" in done.stdout
    assert "of the memory here" in done.stdout
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, resource.RLIM_INFINITY))
    assert open_files_limit() is None
