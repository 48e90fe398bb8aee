"""What is loaded: servers by their URLs, and one request, or a list with weights from JSON lines.

A URL is resolved once, and refused where it is not on this machine.

A line is an object with `method`, `path`, `headers`, `body` (a text) or `json` (any value, sent as
JSON), `weight`, `status` (the one that is right; without it 200 to 399 are), `declined` (statuses
by which a server declines a request that it cannot answer in time: no error, and in no latency) and
`background` (true: the request loads the server, and its latency is kept apart from that of the
others). All are optional. Of the headers that frame a request, `Connection: close` ends the
connection after the answer, and `Transfer-Encoding: chunked` sends the body in chunks; its length
is the generator's. What is sent to rooms is one message: its `path` and `body`, `room` (the members
of each) and `stalled` (how many members stop reading).
"""

import itertools
import json
import random
import socket
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, urlsplit

PORTS = {"http": 80, "tcp": None, "ws": 80, "sse": 80}
ROOMS = ("ws", "sse")  # what is sent there are messages to rooms, over WebSockets or by POST


class BadInputError(Exception):
    """Something that the user gave cannot be used; the message is one line for them."""


@dataclass(frozen=True)
class Target:
    """Where one server answers. `authority` is host and port as a `Host` header has them."""

    scheme: str
    address: str
    port: int
    authority: str
    path: str


def parse_target(url: str, *, remote: bool) -> Target:
    """Read a URL and resolve its host.

    Raises:
        BadInputError: it has none of the schemes in `PORTS`, its host is not known, or it is not on
            this machine and `remote` is false.
    """
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise BadInputError(f"{url}: {error}") from None
    if parts.scheme == "https":
        raise BadInputError(f"{url}: TLS is not supported; load the http:// port behind it")
    if parts.scheme not in PORTS or not parts.hostname:
        raise BadInputError(
            f"{url}: expected http://HOST[:PORT][/PATH], tcp://HOST:PORT, "
            "ws://HOST[:PORT][/PATH] or sse://HOST[:PORT][/PATH]"
        )
    port = _port(parts, url)
    if parts.username is not None:
        raise BadInputError("a URL with a user name is not supported; use --requests for headers")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not path.isascii() or not path.isprintable() or " " in path:
        raise BadInputError(f"{url}: percent-encode what is not ASCII, and blanks")
    try:
        found = socket.getaddrinfo(
            parts.hostname, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP
        )
    except OSError as error:
        raise BadInputError(f"{url}: no such host ({error.strerror})") from None
    # Of several, as `localhost` has, the IPv4 address: few servers listen on IPv6 alone.
    family, _, _, _, place = min(found, key=lambda each: each[0] != socket.AF_INET)
    address = str(place[0])
    if not remote and not is_here(family, address):
        raise BadInputError(
            f"{url}: {address} is not on this machine; add --remote if you may load it"
        )
    return Target(parts.scheme, address, port, parts.netloc, path)


def _port(parts: SplitResult, url: str) -> int:
    try:
        port = PORTS[parts.scheme] if parts.port is None else parts.port
    except ValueError:  # no number, or too large a one
        port = 0
    if port is None:
        raise BadInputError(f"{url}: a tcp:// URL needs a port")
    if not port:
        raise BadInputError(f"{url}: expected a port from 1 to 65535")
    return port


def is_here(family: int, address: str) -> bool:
    """Whether an address belongs to this machine: a socket can be bound to it."""
    with socket.socket(family, socket.SOCK_STREAM) as trial:
        try:
            trial.bind((address, 0))
        except OSError:
            return False
    return True


# ----------------------------------------------------------------------------------------- requests

ECHO_BODY = "x" * 256  # what the study's echo workload sends unless asked otherwise
WEIGHT_MOST = 1e100
# Headers that frame a request, and which of their values are sent.
FRAMING: Mapping[str, Sequence[str]] = {
    "connection": ("close", "keep-alive"),
    "transfer-encoding": ("chunked",),
    "content-length": (),
}
CHUNK_BYTES = 16_384  # of a body that is sent in chunks
TYPES: Mapping[str, tuple[type | tuple[type, ...], str]] = {  # and what they are called
    "method": (str, "a text"),
    "path": (str, "a text"),
    "headers": (dict, "an object"),
    "body": (str, "a text"),
    "json": (object, "any value"),
    "weight": ((int, float), "a number"),
    "status": (int, "a whole number"),
    "declined": (list, "a list"),
    "background": (bool, "true or false"),
    "room": (int, "a whole number"),
    "stalled": (int, "a whole number"),
}


@dataclass(frozen=True)
class Request:
    """One entry of the list. `path` None stands for the URL's; `status` None for 200 to 399."""

    method: str = "GET"
    path: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""
    weight: float = 1.0
    status: int | None = None
    declined: Sequence[int] = ()
    background: bool = False
    room: int = 1
    stalled: int = 0

    def document(self) -> dict[str, Any]:
        """The object that asks for this request, without `json` and without what is the default."""
        default = vars(Request())
        return {name: value for name, value in vars(self).items() if value != default[name]}

    @property
    def closes(self) -> bool:
        """Whether the connection ends with the answer."""
        return self._header("connection") == "close"

    def on_http(self, authority: str, path: str, *, keepalive: bool) -> bytes:
        """The request as bytes for the server at `authority`; `path` is the URL's."""
        body = self.body.encode()
        lines = [f"{self.method} {self.path or path} HTTP/1.1"]
        if self._header("host") is None:
            lines.append(f"Host: {authority}")
        lines += [
            f"{name}: {value}"
            for name, value in self.headers.items()
            if keepalive or name.lower() != "connection"
        ]
        if self._header("transfer-encoding") is not None:
            body = in_chunks(body)
        elif body or self.method in ("POST", "PUT", "PATCH"):
            lines.append(f"Content-Length: {len(body)}")
        if not keepalive:
            lines.append("Connection: close")
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + body

    def _header(self, name: str) -> str | None:
        """The value of a header, in small letters; None if there is none."""
        values = (value for each, value in self.headers.items() if each.lower() == name)
        return next((value.lower() for value in values), None)

    def on_tcp(self) -> bytes:
        """The body behind its length (4 bytes, big-endian)."""
        body = (self.body or ECHO_BODY).encode()
        return len(body).to_bytes(4, "big") + body


def in_chunks(body: bytes) -> bytes:
    """A body as `Transfer-Encoding: chunked` has it (RFC 9112, 7.1)."""
    parts = [body[at : at + CHUNK_BYTES] for at in range(0, len(body), CHUNK_BYTES)]
    return b"".join(b"%x\r\n%b\r\n" % (len(each), each) for each in [*parts, b""])


def draw(weights: Sequence[float], seed: str) -> Callable[[], int]:
    """Make a function that draws positions in the list, the same ones for a seed."""
    if len(weights) == 1:
        return lambda: 0
    choices, positions = random.Random(seed).choices, range(len(weights))
    totals = list(itertools.accumulate(weights))
    return lambda: choices(positions, cum_weights=totals)[0]


def read_requests(file: str) -> list[Request]:
    """Read a list of requests; empty lines, and a byte order mark, are skipped.

    Raises:
        BadInputError: the file cannot be read, or a line is wrong; it names file and line.
    """
    try:
        with open(file, "rb") as lines:
            found = [
                request_from(_decoded(line, place), place)
                for place, line in _lines(lines, file)
                if line.strip()
            ]
    except OSError as error:
        raise BadInputError(f"{file}: {error.strerror}") from None
    if not found:
        raise BadInputError(f"{file}: no requests in it")
    return found


def _lines(lines: Iterable[bytes], file: str) -> Iterator[tuple[str, bytes]]:
    """The lines of a file, each with what it is called in messages."""
    for number, line in enumerate(lines, 1):
        yield f"{file}, line {number}", line.removeprefix(BOM_UTF8) if number == 1 else line


def _decoded(line: bytes, place: str) -> Any:
    def unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        if twice := [name for name in names if names.count(name) > 1]:
            raise BadInputError(f"{place}: the key {twice[0]!r} is there twice")
        return dict(pairs)

    try:
        return json.loads(line.decode(), object_pairs_hook=unique)
    except UnicodeDecodeError:
        raise BadInputError(f"{place}: not UTF-8") from None
    except json.JSONDecodeError as error:
        raise BadInputError(f"{place}: not JSON ({error.msg}, column {error.colno})") from None
    except ValueError:  # Python converts no longer one
        raise BadInputError(f"{place}: a number of thousands of digits") from None
    except RecursionError:
        raise BadInputError(f"{place}: lists or objects are nested too deeply") from None


def request_from(document: Any, place: str) -> Request:
    """The request of a decoded line, which is called `place` in messages.

    Raises:
        BadInputError: it is not a request.
    """
    if not isinstance(document, dict):
        raise BadInputError(f'{place}: expected an object like {{"path": "/"}}')
    for name, value in document.items():
        if name not in TYPES:
            raise BadInputError(f"{place}: unknown key {name!r}; known: {', '.join(TYPES)}")
        kind, words = TYPES[name]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind not in (bool, object)):
            hint = '; "json" takes objects and lists' if name == "body" else ""
            raise BadInputError(f"{place}: {name} must be {words}, not {value!r}{hint}")
    for name, value in document.get("headers", {}).items():
        if not isinstance(value, str):
            raise BadInputError(f"{place}: header {name} must be a text, not {value!r}")
    request = Request(**_json_as_body(document, place))
    if problem := _problem(request):
        raise BadInputError(f"{place}: {problem}")
    return request


def _json_as_body(document: Mapping[str, Any], place: str) -> Mapping[str, Any]:
    if "json" not in document:
        return document
    if "body" in document:
        raise BadInputError(f"{place}: body and json exclude each other")
    others = {name: value for name, value in document.items() if name != "json"}
    headers = document.get("headers", {})
    if not any(name.lower() == "content-type" for name in headers):
        headers = {**headers, "content-type": "application/json"}
    return {**others, "headers": headers, "body": json.dumps(document["json"])}


def _problem(request: Request) -> str:
    """What a server could not take, or what would not be one request; empty if nothing."""
    if not (request.method.isascii() and request.method.isalpha() and request.method.isupper()):
        return f"method {request.method!r} is not a word in capitals"
    if request.method == "CONNECT":
        return "method CONNECT is not supported"
    if request.path is not None and not (
        request.path.startswith("/") and request.path.isascii() and _is_plain(request.path, " ")
    ):
        return f"path {request.path!r} must begin with / and hold only ASCII without blanks"
    if "#" in (request.path or ""):
        return f"path {request.path!r}: what follows # is never sent; leave it out"
    if problem := _problem_of_headers(request.headers):
        return problem
    if any("\ud800" <= letter <= "\udfff" for letter in request.body):
        return "body: half of a surrogate pair is no text"
    if not 0 < request.weight < WEIGHT_MOST:
        return f"weight {request.weight} is not above 0, or too large"
    return _problem_of_numbers(request)


def _problem_of_headers(headers: Mapping[str, str]) -> str:
    for name, value in headers.items():
        values = FRAMING.get(name.lower())
        if values is not None and value.lower() not in values:
            can_be = f" unless it is {' or '.join(values)}" if values else ""
            return f"header {name} is set by the generator; leave it out{can_be}"
        if not (name and name.isascii() and _is_plain(name, " :")):
            return f"header {name!r} is not a header's name"
        if not _is_plain(value) or not all(ord(letter) < 256 for letter in value):
            return f"header {name}: no line breaks and only Latin-1"
    return ""


def _problem_of_numbers(request: Request) -> str:
    if request.room < 1 or request.stalled < 0:
        return f"a room of {request.room} members with {request.stalled} stalled ones is none"
    for status in (request.status, *request.declined):
        if status is not None and not (type(status) is int and 200 <= status <= 599):
            return f"status {status!r} is not from 200 to 599"
    return ""


def _is_plain(text: str, but: str = "") -> bool:
    return all((letter.isprintable() or letter == "\t") and letter not in but for letter in text)
