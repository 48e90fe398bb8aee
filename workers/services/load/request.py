"""A request: what is asked for, and how it is written for a server."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

ECHO_BODY = "x" * 256  # what the study's echo workload sends unless asked otherwise
CHUNK_BYTES = 16_384  # of a body that is sent in chunks


@dataclass(frozen=True)
class Request:
    """One entry of the list. `path` None stands for the URL's; `status` None for 200 to 399.

    With `websocket` (a path) the texts `send` are sent over a WebSocket, and `receive` messages
    come back: how many, or which texts. `save` has names, and what of the answer they stand for.
    `line` is the entry's in its file; 0: it is in none.
    """

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
    save: Mapping[str, str] = field(default_factory=dict)
    websocket: str | None = None
    send: Sequence[str] = ()
    receive: int | Sequence[str] = 1
    line: int = field(default=0, compare=False)

    @property
    def place(self) -> str:
        """Its name in the kind of an error."""
        return f"line {self.line}" if self.line else self.websocket or self.path or "/"

    def document(self) -> dict[str, Any]:
        """The object that asks for this request, without `json` and without what is the default."""
        default = vars(Request())
        return {name: value for name, value in vars(self).items() if value != default[name]}

    @property
    def closes(self) -> bool:
        """True if the connection ends with the answer."""
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
