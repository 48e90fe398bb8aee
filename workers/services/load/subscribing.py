"""Connections of members: a WebSocket (parsed by websockets) or server-sent events (by httptools).

The first message to a member says that it has joined its room. A member publishes on its WebSocket;
server-sent events go one way, so there `Posts` publishes.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol, cast

import httptools

from workers.services.load.http_connection import HttpConnection
from workers.services.load.lane import BUFFER, Lane, Message, opener
from workers.services.load.request import Request
from workers.services.load.tally import Window
from workers.services.load.targets import Target
from workers.services.load.websocket_connection import Ended, Frames

EVENT_END = b"\n\n"
DATA = b"data: "
FOUND, NO_CONTENT = 200, 204  # statuses


class Sent:
    """A message: when it was due, and how many members do not have it yet.

    `sent_ns` is 0 until its publisher has sent it; if that was not at once, it `waited`. `error` is
    why it cannot be received, if so.
    """

    __slots__ = ("done_ns", "due_ns", "error", "left", "sent_ns", "waited", "window")

    def __init__(self, due_ns: int, window: Window | None, left: int) -> None:
        self.due_ns = due_ns
        self.window = window
        self.left = left
        self.sent_ns = 0
        self.waited = False
        self.done_ns = 0
        self.error = ""


class Publisher(Protocol):
    """Publishes messages of a room, in their order."""

    def publish(self, path: str, message: bytes, published: Sent) -> None:
        """Send a message to the room at a path."""

    def abort(self) -> None:
        """Close at once."""


class Subscriber(asyncio.BufferedProtocol):
    """A connection that hands on what it receives, once it has `joined`."""

    def __init__(
        self,
        target: Target,
        path: str,
        receive: Callable[[bytes], None],
        lost: Callable[[str], None],
    ) -> None:
        """`receive` gets messages, `lost` the kind of error that ended the connection."""
        self.target = target
        self._path = path
        self._receive = receive
        self._lost = lost
        self._transport: asyncio.Transport | None = None
        self.joined: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass of it
        self._transport.set_write_buffer_limits(high=0)
        self.subscribe(self._transport)

    def subscribe(self, transport: asyncio.Transport) -> None:
        """Send the request."""
        raise NotImplementedError

    def get_buffer(self, sizehint: int) -> memoryview:
        return BUFFER

    def eof_received(self) -> None:
        """The server has closed its side; the loop then closes ours."""

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail("closed" if exc is None else "reset")

    def stall(self) -> None:
        """Never read again."""
        if self._transport:
            self._transport.pause_reading()

    def abort(self) -> None:
        self._lost = lambda _: None
        if self._transport:
            self._transport.abort()

    def _take(self, message: bytes) -> None:
        if not self.joined.done():
            self.joined.set_result(None)
            return
        try:
            self._receive(message)
        except (ValueError, IndexError):  # no number, or of none that was published
            self._fail("mismatch")

    def _fail(self, kind: str) -> None:
        if not self.joined.done():
            self.joined.set_exception(ConnectionError(kind))
        self._lost(kind)
        self.abort()


class WebSocket(Subscriber):
    """A WebSocket with a text for each message; what it sends goes to its room."""

    def subscribe(self, transport: asyncio.Transport) -> None:
        self._frames = Frames(self.target.authority, self._path)
        self._flush()

    def buffer_updated(self, nbytes: int) -> None:
        try:
            for message in self._frames.received(bytes(BUFFER[:nbytes])):
                self._take(message)
        except Ended as ended:
            self._fail(str(ended))
        self._flush()

    def publish(self, path: str, message: bytes, published: Sent) -> None:
        """Send a message to the room, which the connection is for."""
        published.sent_ns = time.monotonic_ns()
        if self._transport and not self._transport.is_closing():
            self._frames.message(message)
            self._flush()
        else:
            published.error = "closed"

    def _flush(self) -> None:
        if self._transport:
            self._transport.write(self._frames.to_send())


class EventStream(Subscriber):
    """An answer that does not end, with an event for each message."""

    def subscribe(self, transport: asyncio.Transport) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._received = b""
        request = Request(path=self._path, headers={"Accept": "text/event-stream"})
        transport.write(request.on_http(self.target.authority, self._path, keepalive=True))

    def buffer_updated(self, nbytes: int) -> None:
        try:
            self._parser.feed_data(BUFFER[:nbytes])
        except httptools.HttpParserError:
            self._fail("malformed")

    def on_headers_complete(self) -> None:
        if (status := self._parser.get_status_code()) != FOUND:
            self._fail(f"status {status}")

    def on_body(self, data: bytes) -> None:
        *events, self._received = (self._received + data).split(EVENT_END)
        for event in events:
            self._take(event.removeprefix(DATA))

    def on_message_complete(self) -> None:
        self._fail("closed")


SUBSCRIBERS: dict[str, type[Subscriber]] = {"ws": WebSocket, "sse": EventStream}


class Posts(Lane):
    """Publishes messages as requests to one server, each once the one before is answered."""

    __slots__ = ("_current", "_due", "_target")

    def __init__(self, target: Target) -> None:
        nothing = Message(b"", NO_CONTENT, is_head=False)
        super().__init__([nothing], opener(HttpConnection, target), keepalive=True)
        self._target = target
        self._due: deque[tuple[bytes, Sent]] = deque()
        self._current: Sent | None = None

    def publish(self, path: str, message: bytes, published: Sent) -> None:
        """Send a message to the room at a path, or put it behind the others."""
        request = Request("POST", path, body=message.decode())
        self._due.append((request.on_http(self._target.authority, path, keepalive=True), published))
        self._next()

    def answered(self, error: str, **_: Any) -> None:
        """Note the answer to a request: a wrong one is an error of its message."""
        if self._current and error:
            self._current.error = error
        self._current = None
        self._next()

    def lost(self, kind: str) -> None:
        """Fail all messages that wait: the connection is gone."""
        self.connection = None
        self.answered(kind)
        for _, published in self._due:
            published.error = kind

    def abort(self) -> None:
        if self.connection:
            self.connection.abort()

    def _next(self) -> None:
        if self.connection and self._due and self._current is None:
            data, self._current = self._due.popleft()
            self._current.sent_ns = time.monotonic_ns()
            self.connection.send(Message(data, NO_CONTENT, is_head=False))
        elif not self.connection and self._due:
            self._due[-1][1].error = "closed"
