"""Every server of `serve` answers right, at the cost asked for, and counts each answer once."""

import asyncio
import socket
from collections.abc import Callable, Coroutine
from functools import partial, wraps
from typing import Any

import pytest

from tests.support.in_process import AtWork, ask, at_work, right_request
from workers import Worker
from workers.loops import runner_for
from workers.services.load.request import Request
from workers.workloads.parts.served import load_server
from workers.workloads.parts.servers.on_uvicorn import Send
from workers.workloads.parts.servers.tcp import BODY_MOST, Connection
from workers.workloads.parts.work import PerRequest

# On 3.14t runs with these servers have no error: `test_served_runs_count_what_clients_saw.py`.
pytestmark = [pytest.mark.slow, pytest.mark.one_build]

OF_HTTP = ["aiohttp", "asgi", "fastapi"]
JSON = {"content-type": "application/json"}


def on_a_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """The test on the loop that is its parameter, else on asyncio's."""

    @wraps(test)
    def run(**parameters: Any) -> None:
        runner_for(parameters.get("loop", "asyncio")).run(partial(test, **parameters))

    return run


async def settled(made: AtWork, operations: int) -> None:
    """Wait until the server has counted what its clients have already read."""
    while made.worker.operations < operations:  # noqa: ASYNC110 - it sets no event
        await asyncio.sleep(0.001)
    assert made.counted == (operations, 0)


@pytest.mark.parametrize(
    ("server", "loop", "length"),
    [("aiohttp", "uvloop", 100), ("asgi", "asyncio", 200_000), ("fastapi", "uvloop", 300)],
)
@on_a_loop
async def test_what_clients_send_is_answered_and_counted(
    server: str, loop: str, length: int
) -> None:
    """Each request counts, also where they come at once."""
    async with at_work(server=server, response_bytes=length) as made:
        request = right_request(made.serve)
        assert made.counted == (0, 0)  # the first request was not a client's
        answers = await ask(made.address, *[request] * 5)
        assert [each.status for each in answers] == [200] * 5
        assert {len(each.body) for each in answers} == {length}
        await settled(made, 5)
        await ask(made.address, request.on_http("test", "/", keepalive=True) * 2)
        await settled(made, 7)


@pytest.mark.parametrize(
    ("server", "request_", "status"),
    [
        ("aiohttp", Request(path="/nothing"), 404),
        ("asgi", Request(method="DELETE", path="/"), 405),
        ("fastapi", Request(method="POST", path="/orders", headers=JSON, body="{}"), 422),
    ],
)
@on_a_loop
async def test_wrong_requests_are_refused_with_their_status(
    server: str, request_: Request, status: int
) -> None:
    async with at_work(server=server) as made:
        right = right_request(made.serve)
        answers = await ask(made.address, request_, right)
        assert [each.status for each in answers] == [status, 200]
        await settled(made, 2)


@on_a_loop
async def test_messages_are_echoed_however_they_are_cut() -> None:
    bodies = [b"", b"a", b"bc" * 500, bytes(100_000)]
    sent = b"".join(len(body).to_bytes(4, "big") + body for body in bodies)

    async with at_work(server="tcp") as made:
        for size in (3, 1_000, len(sent)):
            reader, writer = await asyncio.open_connection(*made.address)
            first = sent[:2_000]
            for start in range(0, len(first), size):
                writer.write(first[start : start + size])
                await asyncio.sleep(0)
            writer.write(sent[2_000:])
            assert await reader.readexactly(len(sent)) == sent
            writer.close()
        assert made.counted == (12, 0)


@on_a_loop
async def test_a_message_that_is_too_long_ends_its_connection() -> None:
    async with at_work(server="tcp") as made:
        reader, writer = await asyncio.open_connection(*made.address)
        writer.write((BODY_MOST + 1).to_bytes(4, "big"))
        with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
            await reader.readexactly(1)
        writer.close()
        assert made.counted == (0, 1)


@on_a_loop
async def test_a_client_that_left_while_it_waited_is_not_counted() -> None:
    async with at_work(server="tcp", wait_ms=20) as made:
        _, writer = await asyncio.open_connection(*made.address)
        writer.write((1).to_bytes(4, "big") + b"x")
        await writer.drain()
        writer.transport.abort()
        await asyncio.sleep(0.1)
        assert made.counted == (0, 0)


@pytest.mark.parametrize(
    ("policy", "loop"),
    [("port", "uvloop"), ("acceptor", "asyncio"), ("shared", "uvloop"), ("reuseport", "asyncio")],
)
@on_a_loop
async def test_answers_are_sent_at_once(
    policy: str, loop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without TCP_NODELAY, an answer in two writes waits for an acknowledgement."""
    transports: list[asyncio.BaseTransport] = []
    made = Connection.connection_made

    def noted(self: Connection, transport: asyncio.BaseTransport) -> None:
        transports.append(transport)
        made(self, transport)

    monkeypatch.setattr(Connection, "connection_made", noted)
    async with at_work(server="tcp", accept=policy) as one:
        reader, writer = await asyncio.open_connection(*one.address)
        writer.write((1).to_bytes(4, "big") + b"x")
        await reader.readexactly(5)
        accepted = transports[-1].get_extra_info("socket")
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        writer.close()


@pytest.mark.parametrize("server", ["tcp", *OF_HTTP])
@on_a_loop
async def test_a_wrong_first_answer_ends_the_setup(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind: Any = load_server(server)
    if server == "tcp":
        monkeypatch.setattr(kind.Connection, "_take", lambda self, message: self._refuse(0))
        why = "closed the connection"
    else:
        monkeypatch.setattr(kind, "requests", lambda response_bytes: [{"path": "/no", "status": 1}])
        why = "404 Not Found"

    with pytest.raises((RuntimeError, ConnectionResetError), match=f"{why}|reset"):
        async with at_work(server=server):
            pass


@on_a_loop
async def test_an_application_that_raises_is_answered_with_500_and_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kind: Any = load_server("asgi")
    right = kind.respond
    failing = False

    async def respond(send: Send, *arguments: Any) -> None:
        if failing:
            raise ZeroDivisionError("of mine")
        await right(send, *arguments)

    monkeypatch.setattr(kind, "respond", respond)

    async with at_work(server="asgi") as made:
        failing = True
        (answer,) = await ask(made.address, right_request(made.serve))
        assert answer.status == 500
        assert made.counted == (1, 0)  # the load generator counts the error
        assert made.worker.error_samples == ["ZeroDivisionError: of mine"]


@on_a_loop
async def test_facts_show_an_access_log_and_a_parser_that_is_not_the_usual_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from aiohttp import web_protocol
    from aiohttp.http_parser import HttpRequestParserPy
    from aiohttp.log import access_logger

    kind: Any = load_server("aiohttp")
    whole = web_protocol.RequestHandler.__init__

    def logging(self: Any, *arguments: Any, **options: Any) -> None:
        whole(self, *arguments, **options | {"access_log": access_logger})

    monkeypatch.setattr(web_protocol, "HttpRequestParser", HttpRequestParserPy)
    monkeypatch.setattr(web_protocol.RequestHandler, "__init__", logging)

    server = kind.make(Worker(0, 1, {}), PerRequest(), 1)
    await server.start()
    facts = server.facts(server.protocol())
    assert (facts["http_parser"], facts["access_log"]) == ("aiohttp, pure Python", "on")
    await server.close()
    async with at_work(server="fastapi") as made:
        facts = made.serve.facts()
    usual = {"access_log": "off", "debug": "off", "date_header": "on", "body_bytes": "256"}
    assert usual.items() <= facts.items()
    assert facts["framework"].startswith("FastAPI")
