"""A served run under every model, server and accept policy: what it counts is what clients saw."""

import asyncio
import json
import socket
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from scaling.run.child import Ending
from scaling.run.load import Generator
from tests.support.children import FREE_THREADED, PATIENCE_S, finish
from tests.support.halves import on_this_build
from tests.support.in_process_server import at_work
from tests.support.servers import environment
from tests.support.serving import served
from workers.readback.refusals import Isolation, load_choices, refusals
from workers.worker.registry import built_in
from workers.workloads.serve import Serve

pytestmark = pytest.mark.slow

SERVERS = ["tcp", "aiohttp", "asgi", "fastapi"]
MODELS = ["threads", "processes", "forked", "interpreters"]
POLICIES = ["port", "acceptor", "shared", "reuseport"]
CONNECTIONS = 6


async def load(url: str, requests: Path, *options: str) -> dict[str, Any]:
    """What a load generator counts. It has no warm-up, so it counts all that it sends."""
    generator = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "workers.services.load", url, "--json", "--warmup=0"),
        *(f"--connections={CONNECTIONS}", f"--requests={requests}", *options),
        stdout=asyncio.subprocess.PIPE,
        env=environment(),
    )
    printed, _ = await asyncio.wait_for(generator.communicate(), PATIENCE_S)
    found: dict[str, Any] = json.loads(printed)
    return found


@pytest.mark.one_build
@pytest.mark.parametrize("policy", ["port", "acceptor"])
@pytest.mark.parametrize("options", [(), ("--no-keepalive",)], ids=["kept", "closed"])
@pytest.mark.parametrize("server", SERVERS)
def test_every_answer_is_counted_once(
    server: str, options: tuple[str, ...], policy: str, tmp_path: Path
) -> None:
    async def test() -> None:
        async with at_work(server=server, accept=policy, response_bytes=500) as made:
            listed = tmp_path / "requests.jsonl"
            listed.write_text("\n".join(json.dumps(each) for each in made.serve.client_requests()))
            host, port = made.address
            url = f"{made.serve.client_scheme()}://{host}:{port}"
            seen: Counter[str] = Counter()
            rounds = 0
            while not seen["completed"]:  # a busy machine may answer nothing for a while
                found = await load(url, listed, "--rate=300", "--seconds=0.4", *options)
                assert found["errors"] == {}
                rounds += 1
                seen.update({name: found[name] for name in ("completed", "censored", "offered")})
            made.worker.stop()
            await made.serve.run(made.worker)
            counted, errors = made.counted
            assert errors == 0
            assert seen["completed"] <= counted <= seen["completed"] + seen["censored"]
            connections = made.worker.figures["connections_total"]
            if options:
                assert counted <= connections <= seen["offered"]
            else:
                assert connections <= CONNECTIONS * rounds

    asyncio.run(test())


def run(model: str, server: str, watch: Any = lambda generator: None, **asked: Any) -> Ending:
    """One run of two workers, which must be measured."""
    parameters = {"server": server, **asked.pop("parameters", {})}
    ending = served(
        "serve",
        model=model,
        workers=2,
        connections=CONNECTIONS,
        parameters=parameters,
        watch=watch,
        **asked,
    )
    assert ending.outcome == "measured", (ending.record and ending.record.failure, ending.stderr)
    return ending


def connections(ending: Ending) -> list[float]:
    assert ending.record
    return [worker.figures["connections_total"] for worker in ending.record.workers]


@pytest.mark.parametrize(
    ("model", "server"),
    [
        (model, server)
        for model, server in on_this_build(MODELS, SERVERS)
        if model != "interpreters" or server in ("tcp", "aiohttp")
    ],
)
def test_every_model_serves(model: str, server: str) -> None:
    addresses: list[tuple[str, int]] = []
    ending = run(model, server, note_addresses(addresses))
    assert ending.record
    assert ending.load
    assert ending.load.errors == {}
    assert sum(ending.load.latency.count) > 0
    for worker in ending.record.workers:
        operations = worker.ticks.operations
        assert operations[-1] - operations[0] > 0
        assert (worker.errors, worker.pending_tasks) == (0, 0)
    assert connections(ending) == [3, 3]
    parser = {"aiohttp": "aiohttp, C", "asgi": "httptools", "fastapi": "httptools"}.get(server, "")
    if model == "interpreters" and server == "aiohttp":
        parser = "aiohttp, pure Python"
    assert ending.record.facts.get("http_parser", "").startswith(parser)
    assert ending.stderr == ""
    assert len(addresses) == 2
    for address in addresses:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address)


def note_addresses(found: list[tuple[str, int]]) -> Any:
    """A watcher that notes where a run was listening."""

    def watch(generator: Generator) -> None:
        connect = generator.connect

        def noted(urls: Sequence[str], requests: Any) -> None:
            parts = [urlsplit(url) for url in urls]
            found.extend((str(each.hostname), each.port or 0) for each in parts)
            connect(urls, requests)

        generator.connect = noted  # type: ignore[method-assign]

    return watch


@pytest.mark.parametrize(("policy", "loop"), on_this_build(POLICIES, ["asyncio", "uvloop"]))
def test_every_policy_brings_all_connections(policy: str, loop: str) -> None:
    addresses: list[tuple[str, int]] = []
    asked = {"accept": policy}
    ending = run("threads", "asgi", note_addresses(addresses), parameters=asked, loop=loop)
    made = connections(ending)
    assert sum(made) == CONNECTIONS
    if policy in ("port", "acceptor"):
        assert made == [CONNECTIONS / 2] * 2
    assert len(addresses) == (2 if policy == "port" else 1)
    for address in addresses:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address)


def test_what_people_ship_leaves_the_gil_as_it_was() -> None:
    ending = run("threads", "fastapi")
    assert ending.record
    assert ending.record.process.gil.seen == (not FREE_THREADED,) * 4
    assert ending.record.process.gil.enabled_by is None


@pytest.mark.one_build
@pytest.mark.parametrize(("heap", "sizes"), [("total", [3, 2]), ("per-worker", [5, 5])])
def test_the_record_says_how_large_a_heap_was(heap: str, sizes: list[int]) -> None:
    ending = run("threads", "tcp", parameters={"heap_objects": 5, "heap": heap})
    assert ending.record
    found = [worker.figures["heap_objects_total"] for worker in ending.record.workers]
    assert found == sizes


def test_a_served_run_without_a_driver_fails_in_one_line() -> None:
    done = finish({"workload": "serve"})
    assert done.code == 1
    failure = done.record.failure
    assert failure
    assert failure.error == (
        "DriverError: a served workload needs a driver that loads it: scaling run"
    )


def test_what_cannot_serve_says_why() -> None:
    path = built_in()["serve"]
    loops = ["asyncio", "uvloop", "rloop", "trio"]
    with Isolation(["asyncio", "uvloop"]) as isolation:
        found = refusals(path, Serve, loops, load_choices(Serve), isolation)
    reasons = {
        (each["model"], each["loop"], *each["parameters"].items()): each["reason"] for each in found
    }
    isolated = {
        name: reason for name, reason in reasons.items() if name[:2] == ("interpreters", "asyncio")
    }
    assert set(isolated) == {
        ("interpreters", "asyncio", ("server", "asgi")),
        ("interpreters", "asyncio", ("server", "fastapi")),
    }
    assert all("subinterpreters" in reason for reason in isolated.values())
    assert "uvloop" in reasons["interpreters", "uvloop"]
    assert reasons["threads", "trio"] == "runs only on asyncio's loops"
    assert "accepted" in reasons["threads", "rloop", ("accept", "acceptor")]
    assert not [name for name in reasons if name[:2] == ("threads", "asyncio")]
