"""One request through a worker's server before anything is counted: is the answer right?

It goes over a connection of its own, which no accept policy makes, and warms the loop up alone:
what an application makes at its first request (a middleware stack, say) is made here.
"""

import asyncio
import socket
from collections.abc import Mapping
from typing import Any

from workers.services.load.requests_list import Request
from workers.workloads.parts.loopback import listen
from workers.workloads.parts.servers.base import BaseServer

CHUNK_BYTES = 65_536


async def first_request(
    server: BaseServer, scheme: str, request: Mapping[str, Any]
) -> dict[str, str]:
    """Send a request as the load generator does; return the facts that its answer shows.

    Raises:
        RuntimeError: the answer is wrong.
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
            shown = await (_on_tcp if scheme == "tcp" else _on_http)(client, asked)
            return server.facts(protocol) | shown
    finally:
        accepting.close()


async def _on_tcp(connection: socket.socket, request: Request) -> dict[str, str]:
    message = request.on_tcp()
    await _send(connection, message)
    answer = b""
    while len(answer) < len(message):
        answer += await _receive(connection)
    if answer != message:
        raise RuntimeError("the server did not send back what it was sent")
    return {}


async def _on_http(connection: socket.socket, request: Request) -> dict[str, str]:
    await _send(connection, request.on_http("127.0.0.1", "/", keepalive=True))
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += await _receive(connection)
    head, _, body = answer.partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    while len(body) < int(headers.get("content-length", 0)):
        body += await _receive(connection)
    if request.status is not None and status.split()[1] != str(request.status):
        raise RuntimeError(f"the first request was answered with {status!r}, {body[:200]!r}")
    return {
        "date_header": "on" if "date" in headers else "off",
        "body_bytes": str(len(body)),
    }


async def _send(connection: socket.socket, data: bytes) -> None:
    await asyncio.get_running_loop().sock_sendall(connection, data)


async def _receive(connection: socket.socket) -> bytes:
    data = await asyncio.get_running_loop().sock_recv(connection, CHUNK_BYTES)
    if not data:
        raise RuntimeError("the server closed the connection of the first request")
    return data
