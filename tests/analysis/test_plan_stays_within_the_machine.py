"""What needs more memory or open files than there are is left out by the plan, with the reason.

Within the limit of open files nothing has to be done beforehand: children and helpers raise theirs.
"""

import asyncio
import json
import resource
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace

from scaling.journal.record import (
    Cell,
    Description,
    Holds,
    ParameterFacts,
    ParameterValue,
    WorkloadFacts,
    decode_record,
)
from scaling.machine.identity import open_files_limit
from scaling.study.plan.cells import Plan
from scaling.study.plan.groups import memory_bytes
from scaling.study.plan.refusals import (
    Candidate,
    Limits,
    held_bytes,
    open_files_needed,
    unfit_here,
)
from scaling.study.services import SERVICES
from tests.support.children import PATIENCE_S, QUICK, environment
from tests.support.cli import BUILD, Command
from tests.support.descriptions import COMPUTE, ECHO
from tests.support.plans import ECHO_FILE, planned
from tests.support.servers import ready, responder_command

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


def test_what_a_cell_keeps_follows_from_who_shares_it() -> None:
    held = {
        (cell.arm, cell.model): (needs - memory_bytes(cell, STATE)) / GIB
        for cell, needs in of_state().needs.items()
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


def test_a_service_keeps_one_copy_for_all() -> None:
    assert STATE.holds
    facts = replace(STATE, holds=replace(STATE.holds, in_service={"kind": "array"}))
    for cell in of_state().cells:
        held = {
            kind: held_bytes(Candidate(cell, facts, {"objects": 100, "kind": kind}))
            for kind in ("dicts", "array")
        }
        copies = {"threads": 1, "processes": 2, "forked": 3}[cell.model]
        assert held == {"array": 1600, "dicts": copies * 102_400}
    (first, *_) = of_state().cells
    limits = Limits(memory_bytes=GIB)
    large = Candidate(first, facts, {"objects": 1 << 30, "kind": "array"}, limits=limits)
    assert "(1 × 16.0 GiB)" in (unfit_here(large) or "")


def test_cells_that_are_alive_at_once_fit_into_free_memory() -> None:
    largest = []
    for free_gib in (1000, 6, 3):
        made = of_state(free_gib=free_gib)
        assert all(
            sum(made.needs[slot.cell] for slot in group.slots) <= free_gib * GIB
            for group in made.in_turn
        )
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
        (PAIRS, "interpreters", 8, 8),
        (PAIRS, "processes", 8, 1),
        (PAIRS, "forked", 8, 1),
        (SERVED, "threads", 8, 8),
        (SERVED, "processes", 8, EACH),  # a process of the helper's serves so many workers
        (SERVED, "processes", 2, 2),
    ],
)
def test_the_fullest_process_counts(
    workload: WorkloadFacts, model: str, workers: int, processes_worth: int
) -> None:
    alone = open_files_needed(Candidate(cell(1), workload, {}, 100))
    needed = open_files_needed(Candidate(cell(workers, model), workload, {}, 100 * workers))
    each = 100 * workload.descriptors
    assert (processes_worth - 1) * each <= needed - alone < processes_worth * each


@pytest.mark.parametrize(
    ("parameters", "possible"),
    [
        ({"accept": "port"}, [1, 2]),
        ({"accept": "shared"}, [1]),
        ({"accept": "shared", "room": 10}, [1, 2]),
    ],
)
def test_connections_need_a_port_each_at_their_end(
    parameters: dict[str, ParameterValue], possible: list[int]
) -> None:
    facts, limits = replace(SERVED, served=True), Limits(ports=1500)
    found = {
        n: unfit_here(
            Candidate(replace(cell(n), parameters=parameters), facts, {}, n * 1000, limits)
        )
        for n in (1, 2)
    }
    assert [n for n, reason in found.items() if reason is None] == possible
    if 2 not in possible:
        assert found[2] == (
            "2 workers: 2,000 connections needed to one port, and this system allows 1,500 "
            "(net.ipv4.ip_local_port_range, 1 of its addresses)"
        )


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({}, None),
        ({"room": 10}, None),
        ({"room": 10, "stalled": 2}, None),
        ({"room": 7}, "2 workers: 20 connections cannot be in rooms of 7: change connections"),
        (
            {"room": 10, "stalled": 3},
            "2 workers: stalled=3 needs as many rooms",
        ),
        ({"room": 1, "stalled": 1}, "2 workers: stalled=1 needs as many rooms"),
    ],
)
def test_connections_are_in_rooms_of_one_size(
    parameters: dict[str, ParameterValue], reason: str | None
) -> None:
    found = unfit_here(Candidate(replace(cell(2), parameters=parameters), PAIRS, {}, 20))
    assert (found is None) if reason is None else reason in (found or "")


@pytest.mark.parametrize(("in_flight", "possible"), [(100_000, True), (100_001, False)])
def test_more_connections_than_the_generator_makes_are_not_planned(
    in_flight: int, possible: bool
) -> None:
    connections = replace(SERVED.parameters["connections"], at_most=100_000)
    served = replace(SERVED, served=True, parameters={"connections": connections})
    assert (unfit_here(Candidate(cell(2), served, {}, in_flight)) is None) is possible
    assert unfit_here(Candidate(cell(2), replace(served, served=False), {}, in_flight)) is None


def test_it_is_the_hard_limit_that_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 9999))
    assert open_files_limit() == 9999
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, resource.RLIM_INFINITY))
    assert open_files_limit() is None


def limited(limits: str, command: list[str]) -> list[str]:
    """A command that runs under these limits, such as `-n 100` (hard and soft) or `-Sn 100`."""
    return ["sh", "-c", f'ulimit {limits}; exec "$@"', "sh", *command]


def child(limits: str, model: str) -> "subprocess.CompletedProcess[str]":
    """Two workers with 100 connections each, under these limits."""
    asked = {"workload": "echo", "model": model, "workers": 2, "parameters": {"connections": 100}}
    return subprocess.run(
        limited(limits, [sys.executable, "-m", "workers"]),
        input=json.dumps({**QUICK, **asked}),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env=environment(),
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", ["threads", "processes", pytest.param("interpreters", marks=pytest.mark.thorough)]
)
def test_what_is_said_to_be_needed_is_enough(model: str) -> None:
    done = child(f"-n {open_files_needed(Candidate(cell(2, model), PAIRS, {}, 200))}", model)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_what_is_refused_would_have_failed() -> None:
    done = child("-n 390", "threads")  # 400 sockets
    assert done.returncode == 1
    failure = decode_record(done.stdout).failure
    assert failure is not None
    assert "Too many open files" in failure.error


@pytest.mark.slow
def test_a_child_raises_its_own_limit_and_records_it() -> None:
    done = child("-Sn 100", "threads")
    assert done.returncode == 0, done.stdout
    assert decode_record(done.stdout).process.open_files_limit == HARD


@pytest.mark.slow
def test_a_helper_raises_its_own_limit() -> None:
    async def ask(url: str) -> int:
        at = urlsplit(url)
        streams = [await asyncio.open_connection(at.hostname, at.port) for _ in range(150)]
        for _, writer in streams:
            writer.write(b"GET / HTTP/1.1\r\n\r\n")
        answered = [await reader.readline() for reader, _ in streams]
        for _, writer in streams:
            writer.close()
        return answered.count(b"HTTP/1.1 200 OK\r\n")

    with subprocess.Popen(
        limited("-Sn 100", responder_command("--until-eof")),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as responder:
        url = ready(responder)["urls"][0]
        assert asyncio.run(asyncio.wait_for(ask(url), PATIENCE_S)) == 150
        responder.communicate(timeout=PATIENCE_S)


@pytest.mark.slow
def test_workloads_say_what_they_hold_open(described_here: Description) -> None:
    workloads = described_here.workloads
    holding = {name: facts.descriptors for name, facts in workloads.items() if facts.descriptors}
    served = ("serve", "serve-cache", "serve-state", "mix", "app", "web", "broadcast")
    one = dict.fromkeys(("scrape", "fetch", *served), 1)
    assert holding == {"echo": 2, "stream": 2, "gateway": 2, **one}
    assert workloads["fetch"].in_flight == "requests_in_flight"


# --- both, from the machine ---------------------------------------------------------------------


@pytest.mark.slow
def test_the_plan_has_the_limits_of_the_machine(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A control group may allow less memory than there is; nothing has been run yet."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1000, 1000))
    monkeypatch.setattr("scaling.run.measure.memory_limit_bytes", lambda: float(1 << 20))
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
