"""Both ends of a connection on one loop: where they meet, and whether they speak TLS."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import ssl


class Contexts(NamedTuple):
    """TLS contexts for the two ends; None for both where they do without."""

    server: ssl.SSLContext | None = None
    client: ssl.SSLContext | None = None


PLAIN = Contexts()


def listen(backlog: int) -> tuple[socket.socket, str, int]:
    """Open a listening socket on a port that the system chooses; return it, host and port.

    The protocol is named because asyncio sets TCP_NODELAY only where it is (protocol 0 costs a
    delayed acknowledgement per message). The host is a literal: no resolver thread is started.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen(backlog)
    host, port = listener.getsockname()
    return listener, host, port
