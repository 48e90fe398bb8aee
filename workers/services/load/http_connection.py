"""HTTP/1.1 from the client's side, as far as it is needed to know when an answer is complete.

httptools leaves three cases to its user: an answer to HEAD has no body whatever its head says, one
without a length ends with the connection, and `100 Continue` is no answer.

A stream of events is answered when it ends, or by the event `[DONE]`. Its end often comes a moment
later; where it does not, the connection is closed.
"""

import asyncio
import re
import time

import httptools

from workers.services.load.lane import BUFFER, Lane, Message, Reporting
from workers.services.load.sequence import SETS, Answer, cookies

FRAMING = (b"content-length", b"transfer-encoding")
EVENTS = b"text/event-stream"
DONE = re.compile(rb"(?:^|[\r\n])data: ?\[DONE\][\r\n]")
DONE_BYTES = 32  # that are looked at again with what comes next: more than it is long
DONE_S = 0.05  # from it to the end of the stream
SETS_BYTES = SETS.encode()
LENGTHS = {len(each) for each in (*FRAMING, b"content-type", SETS_BYTES)}  # of names looked at


class HttpConnection(Reporting):
    """Sends one request at a time and reports to the lane how it was answered."""

    def __init__(self, lane: Lane) -> None:
        super().__init__(lane)
        self._parser = httptools.HttpResponseParser(self)
        self._message: Message | None = None  # in flight
        self._keeps = False  # headers and body of the answer
        self._reset()

    def _reset(self) -> None:
        self._status = 0  # of the final answer, once its head is complete
        self._has_length = False
        self._complete = False
        self._reusable = False
        self._begun = 0  # answers, `100 Continue` not counted
        self._is_stream = False  # of events,
        self._last = b""  # the last bytes that came of it,
        self._ending: asyncio.TimerHandle | None = None  # and what ends it
        self._headers: list[tuple[str, str]] = []
        self._body: list[bytes] = []

    def send(self, message: Message) -> None:
        self._message = message
        self._keeps = message.kept
        super().send(message)

    def on_message_begin(self) -> None:
        """An answer begins, or `100 Continue` (httptools calls this and the next four)."""
        self._begun += 1

    def on_header(self, name: bytes, value: bytes) -> None:
        """Note the headers that say where the body ends, and cookies, which are secrets."""
        if len(name) in LENGTHS:
            lower = name.lower()
            if lower in FRAMING:
                self._has_length = True
            elif lower == b"content-type":
                self._is_stream = value.startswith(EVENTS)
            elif lower == SETS_BYTES:
                found = cookies([(SETS, value.decode("latin-1"))])
                self._lane.secrets.update(found.values())
        if self._keeps:
            self._headers.append((name.decode("latin-1").lower(), value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        """Keep the status of an answer; one to HEAD is complete."""
        status = self._parser.get_status_code()
        if status >= 200:
            self._status = self._status or status
            if self._message and self._message.is_head:
                self._complete = self._reusable = True
        else:
            self._begun -= 1

    def on_body(self, data: bytes) -> None:
        if not self._lane.first_ns:
            self._lane.first_ns = time.monotonic_ns()
        if self._keeps:
            self._body.append(data)
        if self._is_stream and not self._lane.done_ns:
            seen = self._last + data
            self._last = seen[-DONE_BYTES:]
            if DONE.search(seen):
                self._lane.done_ns = time.monotonic_ns()

    def on_message_complete(self) -> None:
        """The end of the body, or of `100 Continue`."""
        if self._status:
            self._complete = True
            self._reusable = self._parser.should_keep_alive()

    def buffer_updated(self, nbytes: int) -> None:
        message = self._message
        try:
            self._parser.feed_data(BUFFER[:nbytes])
        except httptools.HttpParserError:
            if not self._complete:
                self.fail("malformed")
                return
            self._reusable = False  # bytes behind the last answer of a connection
        except httptools.HttpParserUpgrade:
            self.fail("malformed")
            return
        if message is None or self._begun > 1:
            self.fail("malformed")  # an answer that was not asked for
        elif self._complete:
            self._answered(message)
        elif self._lane.done_ns and not self._ending:
            self._ending = asyncio.get_running_loop().call_later(DONE_S, self._end, message)

    def _end(self, message: Message) -> None:
        """The stream goes on after its last event."""
        if self._message is message:
            self._reusable = False
            self._answered(message)

    def connection_lost(self, exc: Exception | None) -> None:
        """An answer without a length is complete now; any other is not."""
        message = self._message
        ended = self._status and (not self._has_length or self._lane.done_ns)
        if message and exc is None and ended:
            self._reusable = False
            self._answered(message)
        else:
            super().connection_lost(exc)

    def _answered(self, message: Message) -> None:
        expected = message.status
        status = self._status
        right = status == expected if expected else 200 <= status < 400
        reusable = self._reusable
        if message.kept:
            self._lane.answer = Answer(tuple(self._headers), b"".join(self._body), status)
        if self._ending:
            self._ending.cancel()
        if message.is_head:
            self._parser = httptools.HttpResponseParser(self)  # it waits for a body
        self._message = None
        self._reset()
        if self._lane.connection is self:
            declined = not right and status in message.declined
            kind = "" if right else f"status {status}"
            self._lane.answered(kind, reusable=reusable, declined=declined)

    @property
    def came_bytes(self) -> int:
        return sum(map(len, self._body))

    def fail(self, kind: str) -> None:
        """The connection is unusable or gone; nothing is in flight on it any more."""
        self._message = None
        super().fail(kind)
