"""Whatever a server answers, or not, is counted by its kind; errors are never a latency."""

import asyncio
import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import cycle

import pytest

from tests.support.children import PATIENCE_S
from workers.services.load.generator import give_up_late
from workers.services.load.http_connection import HttpConnection
from workers.services.load.lane import EchoConnection, Lane, Message, opener
from workers.services.load.request import CHUNK_BYTES, Request
from workers.services.load.tally import Tally, Window
from workers.services.load.targets import Target
from workers.services.serving import new_event_loop

pytestmark = pytest.mark.one_build

HEAD = b"HTTP/1.1 200 OK\r\n"
HI = HEAD + b"Content-Length: 2\r\n\r\nhi"
CLOSE, RESET, HANG, GONE = b"<close>", b"<reset>", b"<hang>", b"<gone>"

FACTORIES = (asyncio.new_event_loop, new_event_loop)

type Factory = Callable[[], asyncio.AbstractEventLoop]


def on_either[Case](cases: Iterable[Case]) -> list[tuple[Factory, Case]]:
    """Each case on one loop: which of the two makes no difference to what is counted."""
    return list(zip(cycle(FACTORIES), cases, strict=False))


@dataclass
class Outcome:
    """What was counted, and what the server saw."""

    window: Window
    connections: int
    received: list[bytes] = field(default_factory=list)


def ask(
    factory: Factory,
    *script: bytes,
    request: Request | None = None,
    times: int = 1,
    keepalive: bool = True,
    scheme: str = "http",
) -> Outcome:
    """Send a request `times` times over one lane to a server that answers each by the script."""

    async def main() -> Outcome:
        async with asyncio.timeout(PATIENCE_S):
            return await _ask(script, request or Request(), times, keepalive, scheme)

    return asyncio.run(main(), loop_factory=factory)


async def _ask(
    script: tuple[bytes, ...], request: Request, times: int, keepalive: bool, scheme: str
) -> Outcome:
    outcome = Outcome(Window(0), 0)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        outcome.connections += 1
        while came := await reader.read(65_536):
            outcome.received.append(came)
            for part in script:
                if part == HANG:
                    await reader.read()
                if part in (CLOSE, RESET, HANG):
                    if part == RESET:
                        linger = b"\1\0\0\0\0\0\0\0"
                        writer.get_extra_info("socket").setsockopt(
                            socket.SOL_SOCKET, socket.SO_LINGER, linger
                        )
                    writer.close()
                    return
                writer.write(part)
                await writer.drain()
                await asyncio.sleep(0.005)  # so that parts are read one by one
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    if GONE in script:
        server.close()
        await server.wait_closed()
    target = Target(scheme, "127.0.0.1", port, f"127.0.0.1:{port}", "/there")
    tally = Tally([0, time.monotonic_ns() + PATIENCE_S * 10**9])
    free = asyncio.Queue[Lane]()
    if scheme == "tcp":
        message = Message(request.on_tcp(), None, is_head=False)
        lane = Lane([message], opener(EchoConnection, target), keepalive=keepalive)
    else:
        data = request.on_http(target.authority, target.path, keepalive=keepalive)
        message = Message(data, request.status, is_head=request.method == "HEAD")
        message = message._replace(declined=request.declined, closes=request.closes)
        lane = Lane([message], opener(HttpConnection, target), keepalive=keepalive)
    lane.attach(tally, free.put_nowait)
    timeout_s = 0.3 if HANG in script else PATIENCE_S
    giving_up = asyncio.create_task(give_up_late([lane], timeout_s))
    for _ in range(times):
        now_ns = time.monotonic_ns()
        lane.send(0, now_ns, tally.take(now_ns))
        await free.get()
    giving_up.cancel()
    lane.finish()
    server.close()
    await asyncio.sleep(0.01)
    (outcome.window,) = tally.windows
    return outcome


GOOD = {
    "with a length": [HI],
    "in pieces": [HI[:10], HI[10:30], HI[30:]],
    "chunked": [HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"2\r\nhi\r\n", b"0\r\n\r\n"],
    "ends with the connection": [HEAD + b"\r\nhello, ", b"world", CLOSE],
    "HTTP/1.0": [b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", CLOSE],
    "closes after it": [HEAD + b"Connection: close\r\nContent-Length: 2\r\n\r\nhi", CLOSE],
    "no content": [b"HTTP/1.1 204 No Content\r\n\r\n"],
    "not modified": [b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n"],
    "after 100 Continue": [b"HTTP/1.1 100 Continue\r\n\r\n", HI],
    "after 100 Continue, at once": [b"HTTP/1.1 100 Continue\r\n\r\n" + HI],
}
UPGRADE = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"
BAD = [
    ("status 500", [b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n"]),
    ("short", [HEAD + b"Content-Length: 9\r\n\r\nhi", CLOSE]),
    ("short", [HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhel", CLOSE]),
    ("short", [HEAD[:9], CLOSE]),
    ("closed", [CLOSE]),
    ("reset", [RESET]),
    ("reset", [HEAD + b"\r\nhello", RESET]),
    ("timeout", [HANG]),
    ("timeout", [HEAD + b"Content-Length: 9\r\n\r\nhi", HANG]),
    ("malformed", [b"220 smtp.example.org ready\r\n"]),
    ("malformed", [HI + HI]),
    ("malformed", [UPGRADE]),
    ("connect", [GONE]),
]


@pytest.mark.parametrize(("factory", "kind"), on_either(GOOD))
def test_good_answers(factory: Factory, kind: str) -> None:
    outcome = ask(factory, *GOOD[kind], times=3)
    assert (outcome.window.completed, dict(outcome.window.errors)) == (3, {})
    assert outcome.connections == (3 if GOOD[kind][-1] == CLOSE else 1)
    assert sum((outcome.window.latency.document() or {})["count"]) == 3


@pytest.mark.parametrize(("factory", "answered"), on_either(BAD))
def test_bad_answers_are_labelled_and_the_next_request_is_sent(
    factory: Factory, answered: tuple[str, list[bytes]]
) -> None:
    kind, script = answered
    outcome = ask(factory, *script, times=2)
    assert dict(outcome.window.errors) == {kind: 2}
    assert outcome.window.completed == 0
    assert outcome.window.latency.document() is None
    assert len(outcome.received) == (0 if script == [GONE] else 2)


@pytest.mark.parametrize("size", [0, 5, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES])
def test_a_body_is_sent_in_chunks_where_that_is_asked(size: int) -> None:
    headers = {"transfer-encoding": "Chunked"}
    data = Request("POST", "/a", headers, "x" * size).on_http("here", "/", keepalive=True)
    head, _, body = data.partition(b"\r\n\r\n")
    assert b"content-length" not in head.lower()
    lengths = []
    while body:
        length, _, rest = body.partition(b"\r\n")
        lengths.append(int(length, 16))
        assert rest[: lengths[-1]] == b"x" * lengths[-1]
        assert rest[lengths[-1] :][:2] == b"\r\n"
        body = rest[lengths[-1] + 2 :]
    assert lengths[-1] == 0
    assert (sum(lengths), len(lengths)) == (size, -(-size // CHUNK_BYTES) + 1)


@pytest.mark.parametrize(
    ("headers", "script", "keepalive", "connections", "said"),
    [
        ({}, [HI], True, 1, b""),
        ({}, [HI], False, 3, b"Connection: close\r\n"),
        ({"connection": "close"}, [HI], True, 3, b"connection: close\r\n"),  # the server keeps it
        ({"Connection": "close"}, GOOD["chunked"], True, 3, b"Connection: close\r\n"),
        ({"Connection": "keep-alive"}, [HI], True, 1, b"Connection: keep-alive\r\n"),
        ({"Connection": "keep-alive"}, [HI], False, 3, b"Connection: close\r\n"),
    ],
)
def test_a_connection_lasts_as_long_as_is_asked_and_its_header_is_sent_once(
    headers: dict[str, str], script: list[bytes], keepalive: bool, connections: int, said: bytes
) -> None:
    request = Request(headers=headers)
    outcome = ask(FACTORIES[0], *script, request=request, times=3, keepalive=keepalive)
    assert (outcome.window.completed, outcome.connections) == (3, connections)
    for each in outcome.received:
        assert said in each
        assert each.lower().count(b"connection:") == bool(said)


def test_what_is_right_or_declined_is_what_the_request_says() -> None:
    """An answer to HEAD has no body. What is declined is no answer and no error."""
    loop = asyncio.new_event_loop
    head = HEAD + b"Content-Length: 1000\r\n\r\n"
    outcome = ask(loop, head, request=Request(method="HEAD"), times=3)
    assert (outcome.window.completed, outcome.connections) == (3, 1)
    busy = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
    right = ask(loop, busy, request=Request(status=503, declined=[503])).window
    assert (right.completed, dict(right.declined)) == (1, {})
    wrong = ask(loop, HI, request=Request(status=503)).window
    assert dict(wrong.errors) == {"status 200": 1}
    window = ask(loop, busy, request=Request(declined=[503, 504]), times=2).window
    assert (dict(window.declined), dict(window.errors)) == ({"status 503": 2}, {})
    assert (window.completed, window.latency.document()) == (0, None)


def test_a_request_is_sent_as_the_list_says() -> None:
    request = Request(method="POST", path="/buy?x=1", headers={"X-Who": "me"}, body="bücher")
    (came,) = ask(asyncio.new_event_loop, HI, request=request).received
    head, _, body = came.partition(b"\r\n\r\n")
    first, *headers = head.decode().split("\r\n")
    assert first == "POST /buy?x=1 HTTP/1.1"
    assert headers[0].startswith("Host: 127.0.0.1:")
    assert headers[1:] == ["X-Who: me", "Content-Length: 7"]
    assert body.decode() == "bücher"
    (came,) = ask(asyncio.new_event_loop, HI).received
    assert came.startswith(b"GET /there HTTP/1.1\r\n")  # the path of the server's URL


ECHO = b"\0\0\0\4abcd"


@pytest.mark.parametrize(
    ("factory", "case"),
    on_either(
        [
            ([ECHO[:2], ECHO[2:6], ECHO[6:]], {}),
            ([b"\0\0\0\4abcx"], {"mismatch": 2}),
            ([ECHO + b"!"], {"mismatch": 2}),
            ([ECHO[:6], CLOSE], {"short": 2}),
            ([ECHO[:6], HANG], {"timeout": 2}),
        ]
    ),
)
def test_echoes_over_tcp(factory: Factory, case: tuple[list[bytes], dict[str, int]]) -> None:
    script, errors = case
    request = Request(body="abcd")
    outcome = ask(factory, *script, request=request, times=2, scheme="tcp")
    assert dict(outcome.window.errors) == errors
    assert outcome.window.completed == (0 if errors else 2)
    assert outcome.received[0] == ECHO
