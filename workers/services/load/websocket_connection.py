"""WebSockets from the client's side: frames as websockets parses them, on connections of our own.

An operation sends its messages at once, and ends with the last one that it waits for.
"""

import asyncio
import time
from collections.abc import Iterable, Iterator, Sequence

from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.uri import parse_uri

from workers.cell import MESSAGES
from workers.services.load.lane import BUFFER, Lane, Message, Reporting
from workers.services.load.sequence import SETS, Answer, cookies

SWITCHED = 101  # the status of an answer that makes a WebSocket of the connection


class Ended(Exception):  # noqa: N818 - how a connection ends is no error
    """The connection is no WebSocket, or no longer; the message is the kind of error."""


class Frames:
    """The client's part of one WebSocket: bytes to and from messages, whole ones."""

    def __init__(
        self,
        authority: str,
        path: str,
        headers: Iterable[tuple[str, str]] = (),
        receives: int = 1,
    ) -> None:
        self._protocol = ClientProtocol(parse_uri(f"ws://{authority}{path}"), max_size=None)
        request = self._protocol.connect()
        for name, value in headers:
            request.headers.pop(name, None)
            request.headers[name] = value
        if receives > 1:  # a server counts operations by it
            request.headers[MESSAGES] = str(receives)
        self._protocol.send_request(request)
        self._parts: list[bytes] = []
        self.waiting: Sequence[bytes] = ()  # texts that are sent once it is a WebSocket
        self.answer: Response | None = None
        self.refused: Response | None = None  # the answer in place of a WebSocket

    def to_send(self) -> bytes:
        """The bytes to write now."""
        return b"".join(self._protocol.data_to_send())

    def message(self, text: bytes) -> None:
        """Send a text."""
        self._protocol.send_text(text)

    def close(self) -> None:
        """Say that the connection ends."""
        if self.answer:
            self._protocol.send_close(1000)

    def received(self, data: bytes) -> Iterator[bytes]:
        """The messages that are complete with these bytes; without any, the connection has ended.

        There may be something `to_send` then. The texts in `waiting` are sent before the first
        message is read: a server may greet at once.

        Raises:
            Ended: it is no WebSocket, the server has closed it, or the bytes are no frames.
        """
        protocol = self._protocol
        if data:
            protocol.receive_data(data)
        else:
            protocol.receive_eof()
        for event in protocol.events_received():
            if isinstance(event, Response):
                if event.status_code != SWITCHED:
                    self.refused = event
                    raise Ended(f"status {event.status_code}")
                self.answer = event
                for text in self.waiting:
                    protocol.send_text(text)
            elif isinstance(event, Frame) and event.opcode is Opcode.CLOSE:
                raise Ended("closed")
            elif isinstance(event, Frame) and event.opcode not in (Opcode.PING, Opcode.PONG):
                self._parts.append(bytes(event.data))
                if event.fin:
                    whole, self._parts = b"".join(self._parts), []
                    yield whole
        if protocol.parser_exc or protocol.handshake_exc:
            raise Ended("malformed")


class WebSocketConnection(Reporting):
    """Sends the messages of one operation at a time and reports what came back.

    Messages that come while none is in flight answer nothing.
    """

    def __init__(self, lane: Lane) -> None:
        super().__init__(lane)
        self._place = lane.message.place
        assert lane.message.opening
        self._frames = Frames(*lane.message.opening)
        self._message: Message | None = None  # in flight
        self._came: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._flush()

    def send(self, message: Message) -> None:
        """Send messages, at once or when it is a WebSocket; nothing is in flight."""
        self._message, self._came, self._begun = message, [], 0
        if not self._frames.answer:
            self._frames.waiting = message.sends
            return
        for text in message.sends:
            self._frames.message(text)
        self._flush()

    def buffer_updated(self, nbytes: int) -> None:
        self._take_all(bytes(BUFFER[:nbytes]))

    def connection_lost(self, exc: Exception | None) -> None:
        """An answer that makes no WebSocket may be complete only now."""
        if not self._frames.answer:
            self._take_all(b"")
        super().connection_lost(exc)

    def _take_all(self, data: bytes) -> None:
        frames, was_open, ended_as = self._frames, self._frames.answer is not None, ""
        try:
            for text in frames.received(data):
                self._take(text)
        except Ended as ended:
            ended_as = str(ended)
        self._flush()
        head = frames.answer or frames.refused
        if head and not was_open:
            found = [(SETS, each) for each in head.headers.get_all(SETS)]
            self._lane.secrets.update(cookies(found).values())
        if ended_as:
            self._fail_as(ended_as)

    def _take(self, text: bytes) -> None:
        message = self._message
        if message is None or message.opening is None or self._lane.connection is not self:
            return
        lane = self._lane
        lane.heard_ns = time.monotonic_ns()
        lane.first_ns = lane.first_ns or lane.heard_ns
        self._begun = 1
        self._came.append(text)
        if len(self._came) < message.opening.receives:
            return
        self._message = None
        self._keep(message, self._frames.answer, text)
        right = not message.texts or self._came == message.texts
        lane.answered("" if right else self._named("mismatch"), reusable=True)

    def _keep(self, message: Message | None, head: Response | None, body: bytes) -> None:
        if message and message.kept and head:
            headers = tuple((name.lower(), value) for name, value in head.headers.raw_items())
            self._lane.answer = Answer(headers, body, head.status_code, tuple(self._came))

    def _fail_as(self, kind: str) -> None:
        if not self._frames.answer:
            refused = self._frames.refused
            self._keep(self._message, refused, bytes(refused.body or b"") if refused else b"")
            kind = self._named(f"no WebSocket ({kind})")
        self.fail("short" if self._begun and kind == "closed" else kind)

    def _named(self, kind: str) -> str:
        return f"{self._place}: {kind}" if self._place else kind

    def close(self) -> None:
        """Close after an answer, and say so."""
        self._frames.close()
        self._flush()
        super().close()

    def _flush(self) -> None:
        if self._transport and (data := self._frames.to_send()):
            self._transport.write(data)
