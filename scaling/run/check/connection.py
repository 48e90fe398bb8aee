"""A connection of a check's client to one worker: requests of HTTP, and WebSockets.

An answer has one limit, from the first byte to the last: a stream that goes on has none in time.
"""

import contextlib
import http.client
import json
import re
import socket
import time
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from scaling.analysis.check.answers import BROKEN, Answer
from scaling.run.app_requests import WEBSOCKET, send

LATE = "no answer within"
ENDLESS = "no end of the answer within"
SHORTEST_S = 0.05  # for an answer that is there when the deadline has passed
CHUNK_BYTES = 65_536
SWITCHED = 101  # the status of an answer that makes a WebSocket of a connection
EVENTS = "text/event-stream"
DONE = re.compile(rb"(?:^|[\r\n])data: ?\[DONE\][\r\n]")  # the last event of a stream
DONE_BYTES = len(b"\ndata: [DONE]\n")
DONE_S = 0.25  # from it to the end of the stream

type RequestDocument = Mapping[str, Any]


class Connection:
    """To the server at a URL. What goes wrong in sending is seen by `answer`."""

    def __init__(self, url: str, limit_s: float) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port or 80
        self._limit_s = limit_s
        self._http = http.client.HTTPConnection(self._host, self._port, timeout=limit_s)
        self._websocket: _WebSocket | None = None

    def connect(self) -> None:
        """Open it; OSError if that is not possible."""
        self._http.connect()

    def close(self) -> None:
        """Close what is open."""
        self._http.close()
        self._leave()

    def send(self, request: RequestDocument) -> None:
        """Send a request; of a WebSocket, which is a new one each time, its head."""
        try:
            if WEBSOCKET in request:
                self._websocket = _WebSocket(self._host, self._port, request, self._limit_s)
            else:
                send(self._http, request)
        except OSError:  # `answer` sends it again, once it is closed
            self._http.close()

    def answer(self, request: RequestDocument, deadline: float) -> Answer:
        """The answer to a request that was sent, or is now; `deadline` is monotonic."""
        try:
            if WEBSOCKET not in request:
                return self._of_http(request, deadline)
            if self._websocket is None:
                self._websocket = _WebSocket(self._host, self._port, request, self._limit_s)
            return self._websocket.answer(deadline)
        except (OSError, http.client.HTTPException, _ClosedError) as error:
            failure = self._in_words(error)
        finally:
            self._leave()
        self._http.close()
        return Answer(failure=failure)

    def _of_http(self, request: RequestDocument, deadline: float) -> Answer:
        try:
            return _read(self._http, deadline)
        except (ConnectionError, http.client.ResponseNotReady) as error:
            # It was idle for so long that the server has closed it; or the server is gone.
            closed = error
        try:
            self._http.close()
            send(self._http, request)
            return _read(self._http, deadline)
        except TimeoutError as late:
            is_gone = isinstance(closed, ConnectionError) and not isinstance(late, _EndlessError)
            raise (closed if is_gone else late) from None

    def _in_words(self, error: Exception) -> str:
        if isinstance(error, TimeoutError):
            what = ENDLESS if isinstance(error, _EndlessError) else LATE
            return f"{what} {self._limit_s:.0f} s"
        if isinstance(error, http.client.IncompleteRead):
            return f"{BROKEN} after {len(error.partial):,} bytes"
        if isinstance(error, _ClosedError):
            return f"{BROKEN}: {error}"
        return f"no answer: {type(error).__name__}: {error}"

    def _leave(self) -> None:
        websocket, self._websocket = self._websocket, None
        if websocket:
            websocket.close()


class _EndlessError(TimeoutError):
    """A part of the answer has come, and no end."""


def _left_s(deadline: float) -> float:
    return max(SHORTEST_S, deadline - time.monotonic())


def _read(connection: http.client.HTTPConnection, deadline: float) -> Answer:
    sock = connection.sock
    if sock:
        sock.settimeout(_left_s(deadline))
    response = connection.getresponse()
    is_stream = (response.getheader("content-type") or "").startswith(EVENTS)
    body = bytearray()
    done = False
    try:
        while part := response.read1(CHUNK_BYTES):
            body += part
            new = max(0, len(body) - len(part) - DONE_BYTES)
            if is_stream and not done and DONE.search(body, new):
                done, deadline = True, time.monotonic() + DONE_S
            if time.monotonic() > deadline:
                raise TimeoutError
            if sock and not response.isclosed():
                sock.settimeout(_left_s(deadline))
        if response.length:
            raise http.client.IncompleteRead(bytes(body))
    except TimeoutError:
        if not done:
            raise (_EndlessError if body else TimeoutError) from None
        connection.close()
    except http.client.IncompleteRead:
        raise http.client.IncompleteRead(bytes(body)) from None
    headers = tuple((name.lower(), value) for name, value in response.getheaders())
    return Answer(status=response.status, headers=headers, body=bytes(body))


# ---------------------------------------------------------------------------------------- websocket


class _ClosedError(Exception):
    """The server has closed a WebSocket before all was received; the message says how."""


class _WebSocket:
    """One round trip on a WebSocket of its own; frames are parsed by websockets."""

    def __init__(self, host: str, port: int, request: RequestDocument, limit_s: float) -> None:
        from websockets.client import ClientProtocol
        from websockets.uri import parse_uri

        self._request = request
        self._protocol = ClientProtocol(
            parse_uri(f"ws://{host}:{port}{request[WEBSOCKET]}"), max_size=None
        )
        asked = self._protocol.connect()
        for name, value in request.get("headers", {}).items():
            if name.lower() != "connection":
                asked.headers.pop(name, None)
                asked.headers[name] = value
        self._sock = socket.create_connection((host, port), limit_s)
        self._protocol.send_request(asked)
        try:
            self._flush()
        except OSError:
            self._sock.close()
            raise

    def answer(self, deadline: float) -> Answer:
        """The messages that come, those of JSON by value; without a WebSocket, what comes instead.

        Raises:
            TimeoutError: not all of it came in time.
            _ClosedError: the server closed it before.
        """
        from websockets.frames import Opcode
        from websockets.http11 import Response

        receive = self._request.get("receive", 1)
        wanted = receive if isinstance(receive, int) else len(receive)
        headers: tuple[tuple[str, str], ...] = ()
        came: list[bytes] = []
        is_whole = True
        for event in self._events(deadline):
            if isinstance(event, Response):
                headers = tuple((name.lower(), value) for name, value in event.headers.raw_items())
                if event.status_code != SWITCHED:
                    body = bytes(event.body or b"")
                    return Answer(status=event.status_code, headers=headers, body=body)
                for text in self._request.get("send", ()):
                    self._protocol.send_text(text.encode())
                self._flush()
            elif event.opcode is Opcode.CLOSE:
                break
            elif event.opcode in (Opcode.TEXT, Opcode.BINARY):
                came.append(bytes(event.data))
                is_whole = event.fin
            elif event.opcode is Opcode.CONT:
                came[-1] += bytes(event.data)
                is_whole = event.fin
            if len(came) >= wanted and is_whole:
                body = json.dumps([_by_value(each) for each in came]).encode()
                return Answer(status=SWITCHED, headers=headers, body=body, messages=tuple(came))
        code = self._protocol.close_code
        raise _ClosedError(f"the WebSocket was closed{f' with {code}' if code else ''}")

    def close(self) -> None:
        """Say that it ends, and close it."""
        with contextlib.suppress(Exception):
            self._protocol.send_close(1000)
            self._flush()
        self._sock.close()

    def _events(self, deadline: float) -> Iterator[Any]:
        """The answer, then frames, until the server has closed the connection."""
        from websockets.frames import Frame

        begun, data = False, b"more"  # begun: what comes after the head
        while data:
            self._sock.settimeout(_left_s(deadline))
            try:
                if begun and time.monotonic() > deadline:
                    raise TimeoutError
                data = self._sock.recv(CHUNK_BYTES)
            except TimeoutError:
                raise (_EndlessError if begun else TimeoutError) from None
            if data:
                self._protocol.receive_data(data)
            else:
                self._protocol.receive_eof()
            for event in self._protocol.events_received():
                begun = begun or isinstance(event, Frame)
                yield event
            self._flush()

    def _flush(self) -> None:
        if data := b"".join(self._protocol.data_to_send()):
            self._sock.sendall(data)


def _by_value(message: bytes) -> Any:
    try:
        return json.loads(message)
    except (ValueError, RecursionError):
        return message.decode(errors="replace")
