"""A raw protocol with a constant answer to each request."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from typing import cast

from workers.services.serving import BACKLOG, url_of

MESSAGE_BYTES = 256
TCP = "tcp"  # the server whose clients speak length-prefixed TCP; those of all others speak HTTP


def http_answer(body_bytes: int) -> bytes:
    """An HTTP answer with a body of so many bytes."""
    return f"HTTP/1.1 200 OK\r\nContent-Length: {body_bytes}\r\n\r\n".encode() + b"x" * body_bytes


def tcp_message(body_bytes: int) -> bytes:
    """A message behind its length: what a client sends, and what comes back."""
    return body_bytes.to_bytes(4, "big") + b"x" * body_bytes


class Constant(asyncio.Protocol):
    """One connection; one request is in flight. It is answered after `request_bytes` of it.

    One of HTTP is small and arrives in one piece: its first byte is enough.
    """

    def __init__(self, answer: bytes, request_bytes: int = 1) -> None:
        self._answer = answer
        self._request_bytes = request_bytes
        self._received_bytes = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass of it

    def data_received(self, data: bytes) -> None:
        """Answer a request that is complete."""
        self._received_bytes += len(data)
        if self._received_bytes >= self._request_bytes:
            self._received_bytes = 0
            self._transport.write(self._answer)


@contextlib.asynccontextmanager
async def serving(answer: bytes, scheme: str, listening: socket.socket) -> AsyncIterator[str]:
    """Serve until the block ends; give the URL."""
    loop = asyncio.get_running_loop()
    request_bytes = len(answer) if scheme == TCP else 1  # what comes back is what was sent
    server = await loop.create_server(
        lambda: Constant(answer, request_bytes), sock=listening, backlog=BACKLOG
    )
    try:
        yield url_of(listening).replace("http", scheme, 1)
    finally:
        server.close()
