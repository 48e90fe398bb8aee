"""A served run under every model, server and accept policy: what it counts is what clients saw."""

import errno
import os
import socket
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest

from scaling.run.child import Ending
from scaling.run.load import Generator
from tests.support.children import FREE_THREADED, each_case, record_of
from tests.support.serving import served
from workers.host import inbound
from workers.host.inbound import Inbound
from workers.workloads.mix import Mix
from workers.workloads.parts.commands import command_line
from workers.workloads.parts.heavy import BODY, heavy_path, heavy_work, wsgi

CONNECTIONS = 6


def run(model: str, server: str, **asked: Any) -> Ending:
    """One run of two workers."""
    parameters = {"server": server, **asked.pop("parameters", {})}
    asked |= {"model": model, "workers": 2, "connections": CONNECTIONS}
    return served("serve", parameters=parameters, **asked)


@pytest.mark.slow
@each_case(
    ("model", "server", "parser"),
    [
        ("threads", "tcp", ""),
        ("threads", "fastapi", "httptools"),
        ("interpreters", "aiohttp", "aiohttp, pure Python"),
        ("processes", "asgi", "httptools"),
        ("forked", "tcp", ""),
    ],
)
def test_every_model_serves(model: str, server: str, parser: str) -> None:
    ending = run(model, server)
    record, load = record_of(ending), ending.load
    assert load
    assert (load.errors, ending.stderr) == ({}, "")
    answered = 0
    for worker in record.workers:
        operations = worker.ticks.operations
        assert operations[-1] > operations[0]
        assert (worker.errors, worker.pending_tasks) == (0, 0)
        assert worker.figures["connections_total"] == CONNECTIONS / 2
        answered += operations[-1]
    assert 0 < sum(load.latency.count) <= load.completed <= answered
    assert record.facts.get("http_parser", "").startswith(parser)
    if model == "threads":
        assert record.process.gil.seen == (not FREE_THREADED,) * 4
        assert record.process.gil.enabled_by is None


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
    ("policy", "loop"), [("acceptor", "uvloop"), ("shared", "asyncio"), ("reuseport", "uvloop")]
)
def test_every_policy_brings_all_connections(policy: str, loop: str) -> None:
    """And nobody listens afterwards."""
    addresses: list[tuple[str, int]] = []
    watch = note_addresses(addresses)
    ending = run("threads", "asgi", watch=watch, parameters={"accept": policy}, loop=loop)
    made = [worker.figures["connections_total"] for worker in record_of(ending).workers]
    assert sum(made) == CONNECTIONS
    if policy == "acceptor":
        assert made == [CONNECTIONS / 2] * 2
    (address,) = addresses
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address)


COLLECTING = """\
import gc

async def app(scope, receive, send):
    gc.collect(0)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"x"})
"""


@pytest.mark.slow
@pytest.mark.one_build
def test_collections_of_the_warm_up_are_not_those_of_the_window(tmp_path: Path) -> None:
    """Each request has one, and a sixth of all requests is in the warm-up."""
    (tmp_path / "collecting.py").write_text(COLLECTING)
    asked = {"application": "collecting:app", "lifespan": "off"}
    record = record_of(served("app", tmp_path, parameters=asked))
    (worker,) = record.workers
    done = worker.ticks.operations[-1] - worker.ticks.operations[0]
    assert record.process.gc_collections == pytest.approx(done, rel=0.1)


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
def test_loops_answer_and_report_where_heavy_work_was_done() -> None:
    record = mixed(heavy="python", heavy_in="thread")
    assert record.facts["heavy_in"] == "thread"
    assert record.facts["server"].startswith("uvicorn ")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.slow
@pytest.mark.one_build
def test_threads_without_loops_answer_the_same_requests() -> None:
    record = mixed("processes", server=GTHREAD)
    assert record.loop.class_ == "none"
    assert record.facts["server"] == GTHREAD
    assert record.outside.processes == 3


def test_both_sides_can_have_as_many_requests_in_flight() -> None:
    mix = Mix(server=GTHREAD, connections=8)
    assert "--workers 1 --threads 24 " in command_line(mix.hosted(), 3, "asyncio", "threads")
    assert "--workers 3 --threads 8 " in command_line(mix.hosted(), 3, "asyncio", "processes")


def test_a_heavy_request_says_how_much_work_it_is() -> None:
    assert [each["path"] for each in Mix(heavy_percent=0).client_requests()] == ["/light"]
    light, heavy = Mix(heavy="native", heavy_ms=20, heavy_percent=5).client_requests()
    assert heavy_work(light["path"]) is None
    assert heavy["path"] == heavy_path("native", 20)
    work = heavy_work(heavy["path"])
    assert work is not None
    assert work.args == (60_000,)  # type: ignore[attr-defined]
    assert (light["weight"], heavy["weight"], heavy["background"]) == (95, 5, True)


def test_the_wsgi_application_answers_light_and_heavy_requests_alike() -> None:
    """Any other path is not found."""
    paths = ("/light", heavy_path("python", 0.01), heavy_path("native", 0.01))
    wrong = ("/", "/python", "/python/x", "/python/-1", "/other/5", "")
    for path in (*paths, *wrong):
        said: list[str] = []
        body = wsgi({"PATH_INFO": path}, lambda status, _headers, said=said: said.append(status))
        right = path in paths
        assert (said, list(body)) == (["200 OK" if right else "404 Not Found"], [BODY] * right)
