"""A served run under every model, server and accept policy: what it counts is what clients saw."""

import asyncio
import errno
import gc
import json
import os
import socket
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest

from scaling.run.child import Ending
from scaling.run.load import Generator
from tests.support.children import (
    FREE_THREADED,
    PATIENCE_S,
    each_case,
    each_model,
    environment,
    record_of,
)
from tests.support.in_process import at_work
from tests.support.serving import served
from tests.support.waiting import wait_until
from workers.host import inbound
from workers.host.inbound import Inbound
from workers.outside.commands import command_line
from workers.readback.describe import Isolation, load_choices, refusals
from workers.readback.process import Collections
from workers.worker.workload import built_in
from workers.workloads.mix import Mix
from workers.workloads.parts.mixed import BODY, heavy_path, heavy_work, wsgi
from workers.workloads.serve import Serve

SERVERS = ["tcp", "aiohttp", "asgi", "fastapi"]


POLICIES = ["port", "acceptor", "shared", "reuseport"]


CONNECTIONS = 6


async def load(url: str, requests: Path) -> dict[str, Any]:
    """What a load generator counts. It has no warm-up, so it counts all that it sends."""
    generator = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "workers.services.load", url, "--json", "--warmup=0"),
        *(f"--connections={CONNECTIONS}", f"--requests={requests}", "--no-keepalive"),
        *("--rate=300", "--seconds=0.4"),
        stdout=asyncio.subprocess.PIPE,
        env=environment(),
    )
    printed, _ = await asyncio.wait_for(generator.communicate(), PATIENCE_S)
    found: dict[str, Any] = json.loads(printed)
    return found


@pytest.mark.slow
@pytest.mark.one_build
@pytest.mark.parametrize(
    ("server", "policy"), [("tcp", "acceptor"), ("aiohttp", "port"), ("fastapi", "port")]
)
def test_every_answer_and_connection_is_counted_once(
    server: str, policy: str, tmp_path: Path
) -> None:
    """On connections that are kept, `test_servers_answer_right.py` counts them for each server."""

    async def test() -> None:
        async with at_work(server=server, accept=policy, response_bytes=500) as made:
            listed = tmp_path / "requests.jsonl"
            listed.write_text("\n".join(json.dumps(each) for each in made.serve.client_requests()))
            host, port = made.address
            url = f"{made.serve.client_scheme()}://{host}:{port}"
            seen: Counter[str] = Counter()
            while not seen["completed"]:  # a busy machine may answer nothing for a while
                found = await load(url, listed)
                assert found["errors"] == {}
                seen.update({name: found[name] for name in ("completed", "censored", "offered")})
            made.worker.stop()
            await made.serve.run(made.worker)
            counted, errors = made.counted
            assert errors == 0
            assert seen["completed"] <= counted <= seen["completed"] + seen["censored"]
            assert counted <= made.worker.figures["connections_total"] <= seen["offered"]

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


# Every server in threads on 3.14t; on 3.14 each other model with one or two. Sub-interpreters have
# another HTTP parser.
@pytest.mark.slow
@each_case(
    ("model", "server"),
    [
        *(("threads", server) for server in SERVERS),
        *(("interpreters", "tcp"), ("interpreters", "aiohttp")),
        *(("processes", "fastapi"), ("forked", "asgi")),
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
    if model == "threads":
        assert ending.record.process.gil.seen == (not FREE_THREADED,) * 4
        assert ending.record.process.gil.enabled_by is None
    assert len(addresses) == 2
    for address in addresses:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address)


def note_addresses(found: list[tuple[str, int]]) -> Any:
    """A watcher that notes where a run was listening."""

    def watch(generator: Generator) -> None:
        connect = generator.connect

        async def noted(urls: Sequence[str], requests: Any) -> None:
            parts = [urlsplit(url) for url in urls]
            found.extend((str(each.hostname), each.port or 0) for each in parts)
            await connect(urls, requests)

        generator.connect = noted  # type: ignore[method-assign]

    return watch


@pytest.mark.slow
@pytest.mark.free_threaded
@pytest.mark.parametrize(
    ("policy", "loop"), list(zip(POLICIES, ["uvloop", "asyncio"] * 2, strict=True))
)
def test_every_policy_brings_all_connections(policy: str, loop: str) -> None:
    """`test_servers_answer_right.py` has each on both loops."""
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


@pytest.mark.slow
@pytest.mark.one_build
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


class Listening:
    """A listening socket whose `accept` does what the list says; then it is closed."""

    def __init__(self, *then: socket.socket | int) -> None:
        self._then = list(then)

    def accept(self) -> tuple[socket.socket, str]:
        each = self._then.pop(0) if self._then else errno.EINVAL
        if isinstance(each, int):
            raise OSError(each, os.strerror(each))
        return each, "client"


@pytest.mark.parametrize("fault", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ECONNABORTED])
def test_a_connection_that_cannot_be_accepted_does_not_end_it(fault: int) -> None:
    with ExitStack() as opened:
        ends = [opened.enter_context(each) for each in socket.socketpair()]
        dealt = [opened.enter_context(each) for each in socket.socketpair()]
        inbound._deal(Listening(fault, dealt[0]), [ends[0]])  # type: ignore[arg-type]
        _, found, _, _ = socket.recv_fds(ends[1], 1, 1)
        assert len(found) == 1
        os.close(found[0])


def test_it_ends_with_its_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[None] = []
    deal = inbound._deal

    def dealt(*given: Any) -> None:
        deal(*given)
        ended.append(None)

    monkeypatch.setattr(inbound, "_deal", dealt)
    made = Inbound("acceptor", 2)
    made.start()
    made.close()
    wait_until(lambda: ended == [None])


def test_addresses_are_in_the_order_of_the_workers() -> None:
    """A check sends what belongs together to workers of its choice. Ports come in any order."""
    made = Inbound("port", 16)
    ports = []
    for each in range(16):
        with socket.fromfd(made.descriptor(each), socket.AF_INET, socket.SOCK_STREAM) as end:
            ports.append(end.getsockname()[1])
    made.close()
    assert made.addresses == [f"127.0.0.1:{port}" for port in ports]


GTHREAD: Final = "gunicorn-gthread"


def mixed(model: str = "threads", **parameters: Any) -> Any:
    """The record of two workers; a heavy request is one millisecond, and a third of all are."""
    asked = {"heavy_ms": 1.0, "heavy_percent": 33.0, **parameters}
    ending = served("mix", model=model, workers=2, parameters=asked)
    record = record_of(ending)
    assert ending.load
    assert ending.load.errors == {}
    light, heavy = sum(ending.load.latency.count), sum(ending.load.background.count)
    assert min(light, heavy) > 0
    assert light + heavy + sum(ending.load.unfinished.count) == ending.load.offered
    return record


@pytest.mark.slow
@pytest.mark.free_threaded
@pytest.mark.parametrize(("heavy", "heavy_in"), [("python", "thread"), ("native", "loop")])
def test_loops_answer_and_report_where_heavy_work_was_done(heavy: str, heavy_in: str) -> None:
    record = mixed(heavy=heavy, heavy_in=heavy_in)
    assert record.facts["heavy_in"] == heavy_in
    assert record.facts["server"].startswith("uvicorn ")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.slow
@each_model("threads", "processes")
def test_threads_without_loops_answer_the_same_requests(model: str) -> None:
    record = mixed(model, server=GTHREAD)
    assert record.loop.class_ == "none"
    assert record.facts["server"] == GTHREAD
    assert record.outside.processes == (3 if model == "processes" else 2)
    assert record.process.free_threaded is FREE_THREADED
    assert record.process.gil.closed is not FREE_THREADED


def test_both_sides_can_have_as_many_requests_in_flight() -> None:
    mix = Mix(server=GTHREAD, connections=8)
    assert "--workers 1 --threads 24 " in command_line(mix, 3, "asyncio", "threads")
    assert "--workers 3 --threads 8 " in command_line(mix, 3, "asyncio", "processes")


def test_a_heavy_request_says_how_much_work_it_is() -> None:
    assert [each["path"] for each in Mix(heavy_percent=0).client_requests()] == ["/light"]
    light, heavy = Mix(heavy="native", heavy_ms=20, heavy_percent=5).client_requests()
    assert heavy_work(light["path"]) is None
    assert heavy["path"] == heavy_path("native", 20)
    work = heavy_work(heavy["path"])
    assert work is not None
    assert work.args == (60_000,)  # type: ignore[attr-defined]
    assert (light["weight"], heavy["weight"], heavy["background"]) == (95, 5, True)


@pytest.mark.parametrize("path", ["/", "/python", "/python/x", "/python/-1", "/other/5", ""])
def test_any_other_path_is_not_found(path: str) -> None:
    said: list[str] = []
    body = wsgi({"PATH_INFO": path}, lambda status, _headers: said.append(status))
    assert (said, list(body)) == (["404 Not Found"], [])


def test_the_wsgi_application_answers_light_and_heavy_requests_alike() -> None:
    for path in ("/light", heavy_path("python", 0.01), heavy_path("native", 0.01)):
        said: list[str] = []
        body = wsgi({"PATH_INFO": path}, lambda status, _headers, said=said: said.append(status))
        assert (said, list(body)) == (["200 OK"], [BODY])


@pytest.fixture
def noted() -> Iterator[Collections]:
    found = Collections()
    found.install()
    yield found
    gc.callbacks.pop()


def test_only_collections_of_the_window_count(noted: Collections) -> None:
    gc.collect()
    noted.begin(2**62)
    gc.collect()
    assert (noted.count, noted.pause_ns) == (0, 0)
    noted.begin(0)
    gc.collect()
    assert noted.count >= 1
    assert noted.pause_ns > 0
