"""Servers that can be loaded, by their URLs.

A URL is resolved once, and refused where it is not on this machine.
"""

import socket
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

PORTS = {"http": 80, "tcp": None, "ws": 80, "sse": 80}
ROOMS = ("ws", "sse")  # what is sent there are messages to rooms, over WebSockets or by POST


class BadInputError(Exception):
    """Something that the user gave cannot be used; the message is one line for them."""


@dataclass(frozen=True)
class Target:
    """The address of a server. `authority` is host and port as a `Host` header has them."""

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
    """Return True if an address belongs to this machine: a socket can be bound to it."""
    with socket.socket(family, socket.SOCK_STREAM) as trial:
        try:
            trial.bind((address, 0))
        except OSError:
            return False
    return True
