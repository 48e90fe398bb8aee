"""What needs more open files than the system allows is left out by the plan, which says so.

Within that limit nothing has to be done beforehand: children and helpers raise their own.
"""

import asyncio
import json
import resource
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import pytest

from scaling.journal.record import (
    Cell,
    Description,
    ParameterValue,
    WorkloadFacts,
    decode_record,
)
from scaling.machine.identity import open_files_limit
from scaling.machine.topology import Topology
from scaling.study.combine import study_from
from scaling.study.file import read_study
from scaling.study.options import Options
from scaling.study.plan.cells import Plan, make_plan
from scaling.study.plan.refusals import open_files_needed, too_few_ports
from scaling.study.services import SERVICES
from tests.support.children import PATIENCE_S, QUICK, environment
from tests.support.cli import BUILD, Command
from tests.support.descriptions import ECHO, description
from tests.support.servers import environment as servers_environment
from tests.support.servers import ready, responder_command

HARD = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
PAIRS = msgspec.structs.replace(ECHO, descriptors=2, refusals=[])
SERVED = msgspec.structs.replace(PAIRS, descriptors=1, services=["responder"])
EACH = SERVICES["responder"].workers_each


def limited(limits: str, command: list[str]) -> list[str]:
    """A command that runs under these limits, such as `-n 100` (hard and soft) or `-Sn 100`."""
    return ["sh", "-c", f'ulimit {limits}; exec "$@"', "sh", *command]


def cell(workers: int, model: str = "threads", connections: int = 100) -> Cell:
    parameters: dict[str, bool | int | float | str | None] = {"connections": connections}
    return Cell(
        workload="echo", loop="asyncio", arm="3.14t", model=model, workers=workers,
        parameters=parameters,
    )  # fmt: skip


def plan(workload: WorkloadFacts, text: str, open_files: int | None) -> Plan:
    study = study_from(
        Options(arm=("3.14t",), controls=False),
        running_build="3.14t",
        load_file=lambda name: read_study(text, f"{name}.toml"),
    )
    here = {"3.14t": description(workloads={"echo": workload})}
    return make_plan(study, here, Topology(logical_cpus=2), open_files=open_files)


MANY = """
models = ["threads", "processes"]
workers = [1, 2, 4]
[[workloads]]
name = "echo"
parameters = { connections = 1000 }
"""


def test_what_fits_is_planned_and_what_does_not_is_left_out_with_the_reason() -> None:
    made = plan(PAIRS, MANY, open_files=5000)
    assert [(each.model, each.workers) for each in made.cells] == [
        ("threads", 1),
        ("threads", 2),
        *(("processes", workers) for workers in (1, 2, 4)),
    ]
    (refused,) = made.refused
    assert refused.model == "threads"
    assert refused.reason == (
        "4 workers: 8,098 open files needed in one process, and this system allows 5,000 "
        "(ulimit -Hn)"
    )


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
    facts = msgspec.structs.replace(SERVED, served=True)
    found = {
        n: too_few_ports(facts, cell(n).but(parameters=parameters), n * 1000, ports=1500)
        for n in (1, 2)
    }
    assert [n for n, reason in found.items() if reason is None] == possible
    if 2 not in possible:
        assert found[2] == (
            "2 workers: 2,000 connections needed to one port, and this system allows 1,500 "
            "(net.ipv4.ip_local_port_range, 1 of its addresses)"
        )


def test_nothing_is_left_out_where_there_is_no_limit() -> None:
    made = plan(PAIRS, MANY, open_files=None)
    assert (len(made.cells), made.refused) == (6, ())


def test_strong_sizing_has_the_same_files_open_at_every_number_of_workers() -> None:
    made = plan(PAIRS, f"sizing = ['strong']\n{MANY}", open_files=5000)
    assert [(each.model, each.workers) for each in made.cells] == [
        ("processes", 2),
        ("processes", 4),
    ]
    assert len(made.refused) == 4


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
    alone = open_files_needed(workload, cell(1), 100)
    needed = open_files_needed(workload, cell(workers, model), 100 * workers)
    each = 100 * workload.descriptors
    assert needed - alone >= (processes_worth - 1) * each
    assert needed - alone < processes_worth * each


def test_it_is_the_hard_limit_that_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 9999))
    assert open_files_limit() == 9999
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, resource.RLIM_INFINITY))
    assert open_files_limit() is None


def child(limits: str, model: str) -> "subprocess.CompletedProcess[str]":
    """Two workers with 100 connections each, under these limits."""
    document = {
        **QUICK,
        "workload": "echo",
        "model": model,
        "workers": 2,
        "parameters": {"connections": 100},
    }
    return subprocess.run(
        limited(limits, [sys.executable, "-m", "workers"]),
        input=json.dumps(document),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env=environment(),
    )


@pytest.mark.slow
@pytest.mark.parametrize("model", ["threads", "processes", "interpreters"])
def test_what_is_said_to_be_needed_is_enough(model: str) -> None:
    done = child(f"-n {open_files_needed(PAIRS, cell(2, model), 200)}", model)
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
        env=servers_environment(),
    ) as responder:
        url = ready(responder)["urls"][0]
        assert asyncio.run(asyncio.wait_for(ask(url), PATIENCE_S)) == 150
        responder.communicate(timeout=PATIENCE_S)


@pytest.mark.slow
def test_workloads_say_what_they_hold_open(described_here: Description) -> None:
    workloads = described_here.workloads
    holding = {name: facts.descriptors for name, facts in workloads.items() if facts.descriptors}
    one = dict.fromkeys(("scrape", "fetch", "serve", "mix", "app", "web", "broadcast"), 1)
    assert holding == {"echo": 2, "stream": 2, "gateway": 2, **one}
    assert workloads["fetch"].in_flight == "requests_in_flight"


@pytest.mark.slow
def test_the_warning_is_printed_before_anything_is_run(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1000, 1000))
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "many.toml").write_text(
        '[[workloads]]\nname = "echo"\nloops = ["asyncio"]\nparameters = { connections = 1000 }\n'
        "workers = [1]\n[[workloads]]\nname = 'echo'\nloops = ['asyncio']\nworkers = [1]\n"
    )
    done = command("plan", "--arm", BUILD, "--study", "many.toml")
    assert done.returncode == 0, done.stderr
    assert "1 worker: 2,062 open files needed" in done.stdout
    assert "allows 1,000" in done.stdout
