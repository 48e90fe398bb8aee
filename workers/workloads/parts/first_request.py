"""Requests to a worker's server before anything is counted: is it ready, and is its answer right?

They go over connections of their own, which no accept policy makes, and warm the loop up alone:
what an application makes at its first request (a middleware stack, say) is made here.
"""

import asyncio
import json
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workers.cell import LOOPBACK
from workers.services.load.request import Request
from workers.system import listen
from workers.workloads.parts.applications import ApplicationError
from workers.workloads.parts.servers import BaseServer

CHUNK_BYTES = 65_536
LAST_CHUNK = b"0\r\n\r\n"
OK = 200


@dataclass
class FirstAnswer:
    """An answer. `status` is 0 where the protocol has none; `line` is its text."""

    status: int = 0
    line: str = ""
    body: bytes = b""
    facts: dict[str, str] = field(default_factory=dict)


async def first_request(
    server: BaseServer, scheme: str, request: Mapping[str, Any]
) -> dict[str, str]:
    """Send a request as the load generator does; return the facts that its answer shows.

    Raises:
        RuntimeError: the answer is wrong.
    """
    expected = request.get("status")
    answer = await first_answer(server, scheme, request)
    if expected is not None and answer.status != expected:
        raise RuntimeError(
            f"the first request was answered with {answer.line!r}, {answer.body[:200]!r}"
        )
    return answer.facts


async def first_answer(server: BaseServer, scheme: str, request: Mapping[str, Any]) -> FirstAnswer:
    """Send a request as the load generator does; return what came back, whatever its status.

    Raises:
        RuntimeError: there was no whole answer.
    """
    asked = Request(**request)
    loop = asyncio.get_running_loop()
    listener, host, port = listen(1)
    protocol = server.protocol()
    accepting = await loop.create_server(lambda: protocol, sock=listener)
    try:
        with socket.socket() as client:
            client.connect((host, port))  # the kernel accepts it; no name is resolved
            client.setblocking(False)
            answer = await (_on_tcp if scheme == "tcp" else _on_http)(client, asked)
            answer.facts = server.facts(protocol) | answer.facts
            return answer
    finally:
        accepting.close()


def check_row(answer: FirstAnswer, rows: int) -> None:
    """Make sure that an answer is a row of the table, whose letters follow from their key.

    Raises:
        RuntimeError: it is not.
    """
    from workers.services.values import letters  # costs the others memory

    row = json.loads(answer.body) if answer.status == OK else {}
    key = row.get("a", 0)
    if not 1 <= key <= rows or row.get("b") != letters(key):
        raise RuntimeError(
            f"the first request was answered with {answer.line!r}, {answer.body[:200]!r}"
        )


async def _on_tcp(connection: socket.socket, request: Request) -> FirstAnswer:
    message = request.on_tcp()
    await _send(connection, message)
    answer = b""
    while len(answer) < len(message):
        answer += await _receive(connection)
    if answer != message:
        raise RuntimeError("the server did not send back what it was sent")
    return FirstAnswer(body=answer)


async def _on_http(connection: socket.socket, request: Request) -> FirstAnswer:
    await _send(connection, request.on_http(LOOPBACK, "/", keepalive=True))
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += await _receive(connection)
    head, _, body = answer.partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    if headers.get("transfer-encoding") == "chunked":
        while not body.endswith(LAST_CHUNK):
            body += await _receive(connection)
        body = _unchunked(body)
    while len(body) < int(headers.get("content-length", 0)):
        body += await _receive(connection)
    facts = {"date_header": "on" if "date" in headers else "off", "body_bytes": str(len(body))}
    return FirstAnswer(int(status.split()[1]), status, body, facts)


def _unchunked(body: bytes) -> bytes:
    """The content of a body that came in chunks (RFC 9112, 7.1), each with its length before it."""
    content = b""
    while not body.startswith(LAST_CHUNK):
        size, _, rest = body.partition(b"\r\n")
        length = int(size.partition(b";")[0], 16)
        content, body = content + rest[:length], rest[length + 2 :]
    return content


async def _send(connection: socket.socket, data: bytes) -> None:
    await asyncio.get_running_loop().sock_sendall(connection, data)


async def _receive(connection: socket.socket) -> bytes:
    data = await asyncio.get_running_loop().sock_recv(connection, CHUNK_BYTES)
    if not data:
        raise RuntimeError("the server closed the connection of the first request")
    return data


# ---------------------------------------------------------------------------------------- readiness
# Waits until a worker's application has started and is ready: its health path answers.

STARTED_S = READY_S = 30.0  # limits
WRONG_S = 5.0  # for a path that gives no answer, or one that says that there is no such path
AGAIN_S = 0.05  # between two tries
FIRST_ERROR, FIRST_NOT_READY = 400, 500  # statuses


async def until_started(server: BaseServer) -> None:
    """Start the application.

    Raises:
        ApplicationError: it did not start, or not in time.
    """
    try:
        async with asyncio.timeout(STARTED_S):
            await server.start()
    except TimeoutError:
        raise ApplicationError(
            f"the application did not start within {STARTED_S:.0f} s: its lifespan waits. Start "
            "what it needs, or leave it out with --lifespan off"
        ) from None


async def until_ready(server: BaseServer, health: str) -> dict[str, str]:
    """Ask for `health` until it is answered well; return the facts that the answer shows.

    Without a path, `/` is asked for once, to read from its connection what is in use; any answer
    will do.

    Raises:
        ApplicationError: it is not ready in time.
    """
    began = time.monotonic()
    while True:
        try:
            async with asyncio.timeout(WRONG_S if health else None):
                answer = await first_answer(server, "http", {"path": health or "/"})
        except TimeoutError:
            raise _not_ready(f"{health} was not answered within {WRONG_S:.0f} s") from None
        if not health or answer.status < FIRST_ERROR:
            return answer.facts
        limit_s = READY_S if answer.status >= FIRST_NOT_READY else WRONG_S
        if time.monotonic() - began > limit_s:
            what = f"{health} was answered with status {answer.status} for {limit_s:.0f} s"
            raise _not_ready(what)
        await asyncio.sleep(AGAIN_S)


def _not_ready(what: str) -> ApplicationError:
    return ApplicationError(f"the application is not ready: {what}; is --health the right path?")
