"""What is loaded: a URL, resolved once, and refused where it is not on this machine."""

import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

PORTS = {"http": 80, "tcp": None}


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
        BadInputError: it is no `http://` or `tcp://` URL, its host is not known, or it is not on
            this machine and `remote` is false.
    """
    try:
        parts = urlsplit(url)
        port = parts.port or PORTS.get(parts.scheme)
    except ValueError as error:
        raise BadInputError(f"{url}: {error}") from None
    if parts.scheme not in PORTS or not parts.hostname:
        raise BadInputError(f"{url}: expected http://HOST[:PORT][/PATH] or tcp://HOST:PORT")
    if not port:
        raise BadInputError(f"{url}: a tcp:// URL needs a port")
    if parts.username is not None:
        raise BadInputError("a URL with a user name is not supported; use --requests for headers")
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
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(parts.scheme, address, port, parts.netloc, path)


def is_here(family: int, address: str) -> bool:
    """Whether an address belongs to this machine: a socket can be bound to it."""
    with socket.socket(family, socket.SOCK_STREAM) as trial:
        try:
            trial.bind((address, 0))
        except OSError:
            return False
    return True
