"""HTTP/1.1 from the client's side, as far as it is needed to know when an answer is complete.

httptools leaves three cases to its user: an answer to HEAD has no body whatever its head says, one
without a length ends with the connection, and `100 Continue` is no answer.
"""

import httptools

from workers.services.load.lane import BUFFER, Lane, Message, Reporting

FRAMING = (b"content-length", b"transfer-encoding")


class HttpConnection(Reporting):
    """Sends one request at a time and reports to the lane how it was answered."""

    def __init__(self, lane: Lane) -> None:
        super().__init__(lane)
        self._parser = httptools.HttpResponseParser(self)
        self._message: Message | None = None  # in flight
        self._reset()

    def _reset(self) -> None:
        self._status = 0  # of the final answer, once its head is complete
        self._has_length = False
        self._complete = False
        self._reusable = False
        self._begun = 0  # answers, `100 Continue` not counted

    def send(self, message: Message) -> None:
        """Send a request; nothing is in flight."""
        self._message = message
        super().send(message)

    def on_message_begin(self) -> None:
        """An answer begins, or `100 Continue` (httptools calls this and the next three)."""
        self._begun += 1

    def on_header(self, name: bytes, value: bytes) -> None:
        """Look for what says where the body ends."""
        if len(name) in (14, 17) and name.lower() in FRAMING:
            self._has_length = True

    def on_headers_complete(self) -> None:
        """Keep the status of an answer; one to HEAD is complete."""
        status = self._parser.get_status_code()
        if status >= 200:
            self._status = self._status or status
            if self._message and self._message.is_head:
                self._complete = self._reusable = True
        else:
            self._begun -= 1

    def on_message_complete(self) -> None:
        """The end of the body, or of `100 Continue`."""
        if self._status:
            self._complete = True
            self._reusable = self._parser.should_keep_alive()

    def buffer_updated(self, nbytes: int) -> None:
        """Read what has come."""
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

    def connection_lost(self, exc: Exception | None) -> None:
        """An answer without a length is complete now; any other is not."""
        message = self._message
        if message and exc is None and self._status and not self._has_length:
            self._reusable = False
            self._answered(message)
        else:
            super().connection_lost(exc)

    def _answered(self, message: Message) -> None:
        expected = message.status
        status = self._status
        right = status == expected if expected else 200 <= status < 400
        reusable = self._reusable
        if message.is_head:
            self._parser = httptools.HttpResponseParser(self)  # it waits for a body
        self._message = None
        self._reset()
        if self._lane.connection is self:
            declined = not right and status in message.declined
            kind = "" if right else f"status {status}"
            self._lane.answered(kind, reusable=reusable, declined=declined)

    def fail(self, kind: str) -> None:
        """The connection is unusable or gone; nothing is in flight on it any more."""
        self._message = None
        super().fail(kind)
