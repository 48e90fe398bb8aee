"""A connection of a check's client to one worker: requests of HTTP, and WebSockets.

An answer has one limit, from the first byte to the last: a stream that goes on has none in time.
"""

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
        closed: Exception | None = None
        try:
            if WEBSOCKET in request:
                if self._websocket is None:
                    self._websocket = _WebSocket(self._host, self._port, request, self._limit_s)
                return self._websocket.answer(deadline)
            try:
                return _read(self._http, deadline)
            except (ConnectionError, http.client.ResponseNotReady) as error:
                # It was idle for so long that the server has closed it; or the server is gone.
                closed = error
                self._http.close()
                send(self._http, request)
                return _read(self._http, deadline)
        except _EndlessError:
            failure = f"{ENDLESS} {self._limit_s:.0f} s"
        except TimeoutError:
            failure = f"{LATE} {self._limit_s:.0f} s"
            if isinstance(closed, ConnectionError):
                failure = f"no answer: {type(closed).__name__}: {closed}"
        except http.client.IncompleteRead as error:
            failure = f"{BROKEN} after {len(error.partial):,} bytes"
        except _ClosedError as error:
            failure = f"{BROKEN}: {error}"
        except (OSError, http.client.HTTPException) as error:
            failure = f"no answer: {type(error).__name__}: {error}"
        finally:
            self._leave()
        self._http.close()
        return Answer(failure=failure)

    def _leave(self) -> None:
        websocket, self._websocket = self._websocket, None
        if websocket:
            websocket.close()


class _EndlessError(Exception):
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
            TimeoutError, _EndlessError: not all of it came in time.
            _ClosedError: the server closed it before.
        """
        from websockets.frames import Frame, Opcode
        from websockets.http11 import Response

        receive = self._request.get("receive", 1)
        wanted = receive if isinstance(receive, int) else len(receive)
        opened: Response | None = None
        parts: list[bytes] = []
        came: list[bytes] = []
        for event in self._events(deadline):
            if isinstance(event, Response):
                opened = event
                if event.status_code != SWITCHED:
                    return Answer(
                        status=event.status_code,
                        headers=_headers(event),
                        body=bytes(event.body or b""),
                    )
                for text in self._request.get("send", ()):
                    self._protocol.send_text(text.encode())
                self._flush()
            elif isinstance(event, Frame) and event.opcode is Opcode.CLOSE:
                break
            elif isinstance(event, Frame) and event.opcode not in (Opcode.PING, Opcode.PONG):
                parts.append(bytes(event.data))
                if event.fin:
                    came.append(b"".join(parts))
                    parts = []
            if opened and len(came) == wanted:
                listed = json.dumps([_by_value(each) for each in came]).encode()
                return Answer(
                    status=SWITCHED, headers=_headers(opened), body=listed, messages=tuple(came)
                )
        code = self._protocol.close_code
        raise _ClosedError(f"the WebSocket was closed{f' with {code}' if code else ''}")

    def close(self) -> None:
        """Say that it ends, and close it."""
        try:
            self._protocol.send_close(1000)
            self._flush()
        except Exception:
            pass
        self._sock.close()

    def _events(self, deadline: float) -> Iterator[Any]:
        """Requests, answers and frames, until the server has closed the connection."""
        from websockets.frames import Frame

        begun = False  # what comes after the head
        while True:
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
            if not data:
                return

    def _flush(self) -> None:
        if data := b"".join(self._protocol.data_to_send()):
            self._sock.sendall(data)


def _headers(response: Any) -> tuple[tuple[str, str], ...]:
    return tuple((name.lower(), value) for name, value in response.headers.raw_items())


def _by_value(message: bytes) -> Any:
    try:
        return json.loads(message)
    except (ValueError, RecursionError):
        return message.decode(errors="replace")
