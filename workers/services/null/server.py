"""A raw protocol with a constant answer to whatever arrives."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from typing import cast

from workers.services.serving.listening import BACKLOG, url_of

MESSAGE_BYTES = 256
TCP = "tcp"  # the server whose clients speak length-prefixed TCP; those of all others speak HTTP


def http_answer(body_bytes: int) -> bytes:
    """An HTTP answer with a body of so many bytes."""
    return f"HTTP/1.1 200 OK\r\nContent-Length: {body_bytes}\r\n\r\n".encode() + b"x" * body_bytes


def tcp_message(body_bytes: int) -> bytes:
    """A message behind its length: what a client sends, and what comes back."""
    return body_bytes.to_bytes(4, "big") + b"x" * body_bytes


class Constant(asyncio.Protocol):
    """One connection. A request is small, and there is one in flight: it arrives in one piece."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass of it

    def data_received(self, data: bytes) -> None:
        """Answer."""
        del data
        self._transport.write(self._answer)


@contextlib.asynccontextmanager
async def serving(answer: bytes, scheme: str, listening: socket.socket) -> AsyncIterator[str]:
    """Serve until the block ends; give the URL."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Constant(answer), sock=listening, backlog=BACKLOG)
    try:
        yield url_of(listening).replace("http", scheme, 1)
    finally:
        server.close()
