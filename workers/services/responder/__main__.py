"""`python -m workers.services.responder`: serve answers, for a study or to try it."""

import asyncio
import contextlib
import random
import socket
import time
from collections import deque
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import cast

from workers.services.serving import (
    BACKLOG,
    BODY_BYTES,
    SHORTEST_S,
    between,
    read_options,
    run_program,
    serve,
    server_parser,
    url_of,
)

# --------------------------------------------------------------------------------------- delay line
# A queue of answers: each is sent when its delay has passed, never before.

SEED = 1  # of the delays


class DelayLine:
    """Sends each answer `delay_s` later.

    All wait equally long, so they are sent in the order in which they arrived, and a single timer
    is enough for any number of connections. With a `spread`, delays are log-normal: `delay_s` is
    their median, `spread` the standard deviation of their logarithm, and each has its own timer.
    """

    def __init__(self, delay_s: float, spread: float = 0.0) -> None:
        self._delay_s = delay_s
        self._spread = spread
        self._factor = random.Random(SEED).lognormvariate
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[float, asyncio.WriteTransport, bytes]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def send(self, transport: asyncio.WriteTransport, answer: bytes) -> None:
        """Send an answer after the delay, if the connection is still open."""
        if not self._delay_s:
            transport.write(answer)
            return
        if self._spread:
            delay_s = self._delay_s * self._factor(0.0, self._spread)
            self._loop.call_later(delay_s, self._send, transport, answer)
            return
        self._waiting.append((time.monotonic() + self._delay_s, transport, answer))
        if self._timer is None:
            self._wait(self._delay_s)

    def close(self) -> None:
        """Drop the answers that are waiting."""
        self._waiting.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _wait(self, left_s: float) -> None:
        self._timer = self._loop.call_later(max(left_s, SHORTEST_S), self._send_due)

    def _send(self, transport: asyncio.WriteTransport, answer: bytes) -> None:
        if not transport.is_closing():
            transport.write(answer)

    def _send_due(self) -> None:
        now = time.monotonic()  # timers may fire early: what is not due waits for the next one
        waiting = self._waiting
        while waiting and waiting[0][0] <= now:
            _, transport, answer = waiting.popleft()
            self._send(transport, answer)
        self._timer = None
        if waiting:
            self._wait(waiting[0][0] - now)


# ------------------------------------------------------------------------------------------- server
# The responder's HTTP/1.1: only what a keep-alive GET needs, on a bare asyncio protocol.
#
# One process serves one port.

END_OF_HEAD = b"\r\n\r\n"
HEAD_MOST_BYTES = 65_536
REFUSED = b"HTTP/1.1 405 Method Not Allowed\r\nAllow: GET\r\nContent-Length: 0\r\n\r\n"


def answer_with(body: bytes) -> bytes:
    """Return the answer to every GET, head and body."""
    head = (
        "HTTP/1.1 200 OK\r\n"
        "Content-Type: application/octet-stream\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class Answering(asyncio.Protocol):
    """One connection; its requests are answered in order, each after the delay.

    Where delays differ, a client has one request in flight on a connection, as HTTP clients have.
    """

    def __init__(self, line: DelayLine, answer: bytes, open_ones: set[asyncio.Transport]) -> None:
        self._line = line
        self._answer = answer
        self._open_ones = open_ones
        self._begun = b""  # the part received of an incomplete request

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass of it
        self._open_ones.add(self._transport)

    def connection_lost(self, error: Exception | None) -> None:
        self._open_ones.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        """Answer complete requests; a GET ends with its head."""
        *heads, self._begun = (self._begun + data).split(END_OF_HEAD)
        for head in heads:
            answer = self._answer if head.startswith(b"GET ") else REFUSED
            self._line.send(self._transport, answer)
        if len(self._begun) > HEAD_MOST_BYTES:
            self._transport.close()


@contextlib.asynccontextmanager
async def serving(
    body: bytes, listening: socket.socket, delay_s: float, spread: float = 0.0
) -> AsyncIterator[str]:
    """Serve until the block ends; give the URL once it has answered a request.

    `delay_s` and `spread` are those of `DelayLine`.
    """
    loop = asyncio.get_running_loop()
    line, answer = DelayLine(delay_s, spread), answer_with(body)
    open_ones: set[asyncio.Transport] = set()
    server = await loop.create_server(
        lambda: Answering(line, answer, open_ones), sock=listening, backlog=BACKLOG
    )
    try:
        await _check(listening, answer)
        yield url_of(listening)
    finally:
        line.close()
        server.close()
        for transport in open_ones:
            transport.abort()
        await server.wait_closed()


async def _check(listening: socket.socket, answer: bytes) -> None:
    """Send a request as a client would.

    Raises:
        ConnectionError: the answer is not the expected one.
    """
    host, port = listening.getsockname()[:2]
    reader, writer = await asyncio.open_connection(host, port)
    try:
        writer.write(b"GET / HTTP/1.1\r\nHost: responder\r\n\r\n")
        received = await reader.readexactly(len(answer))
    except asyncio.IncompleteReadError as error:
        received = error.partial
    finally:
        writer.close()
        await writer.wait_closed()
    if received != answer:
        raise ConnectionError(f"the responder failed its own check; it answered {received[:80]!r}")


# ------------------------------------------------------------------------------------------ program
# Its options, and serving until asked to stop.

ANSWER_BYTES = 1_024
DELAY_MS = 10.0
SPREAD_MOST = 3.0


def main(arguments: Sequence[str]) -> int:
    """Serve until asked to stop; return the exit code (2: bad option, 1: failed)."""
    module = "workers.services.responder"
    parser = server_parser(module, "Answers every GET after a delay.", delay_ms=DELAY_MS)
    size_help = f"bytes in the body of each answer ({ANSWER_BYTES:,})"
    parser.add_argument("--body-bytes", type=BODY_BYTES, default=ANSWER_BYTES, help=size_help)
    spread_help = (
        "standard deviation of the delay's logarithm: delays are log-normal, --delay-ms is "
        "their median; 0: all are equal (0)"
    )
    parser.add_argument(
        "--delay-spread", type=between(float, 0, SPREAD_MOST), default=0.0, help=spread_help
    )
    options = read_options(parser, arguments)
    delays = {"delay_s": options.delay_ms / 1_000, "spread": options.delay_spread}
    serving_it = partial(serving, bytes(options.body_bytes), **delays)
    own, welcome = ("body_bytes", "delay_spread"), "Serving at {}"
    return serve(parser, options, lambda: serving_it, own=own, welcome=welcome)


if __name__ == "__main__":
    run_program(main)
