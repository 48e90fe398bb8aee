"""`python -m workers.services.null`: answer every request alike."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import cast

from workers.services.serving import (
    BACKLOG,
    BODY_BYTES,
    read_options,
    run_program,
    serve,
    server_parser,
    url_of,
)

# ------------------------------------------------------------------------------------------- server
# A raw protocol with a constant answer to each request.

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
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass of it

    def data_received(self, data: bytes) -> None:
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


# ------------------------------------------------------------------------------------------ program
# Its options, and serving until asked to stop.


def main(arguments: Sequence[str]) -> int:
    """Serve until asked to stop; return the exit code (2: bad option, 1: failed)."""
    module = "workers.services.null"
    parser = server_parser(module, "Gives every request the same answer.", delay_ms=None)
    add = parser.add_argument
    add("--server", default="http", help=f"{TCP}: length-prefixed TCP; anything else: HTTP (http)")
    size_help = f"bytes in the body of each answer ({MESSAGE_BYTES})"
    add("--response-bytes", type=BODY_BYTES, default=MESSAGE_BYTES, help=size_help)
    options = read_options(parser, arguments)
    on_tcp = options.server == TCP
    answer = (tcp_message if on_tcp else http_answer)(options.response_bytes)
    serving_it = partial(serving, answer, TCP if on_tcp else "http")
    own = ("server", "response_bytes")
    return serve(parser, options, lambda: serving_it, own=own, welcome="Serving at {}")


if __name__ == "__main__":
    run_program(main)
