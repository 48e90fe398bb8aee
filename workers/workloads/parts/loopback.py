"""Connections over loopback: a listening socket, and TLS contexts for both ends."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, NamedTuple

from workers.cell import LOOPBACK

if TYPE_CHECKING:
    import ssl


class Contexts(NamedTuple):
    """TLS contexts for both ends; None without TLS."""

    server: ssl.SSLContext | None = None
    client: ssl.SSLContext | None = None


PLAIN = Contexts()


def listen(backlog: int) -> tuple[socket.socket, str, int]:
    """Open a listening socket on a free port; return it, its host and its port.

    The protocol is given because asyncio sets TCP_NODELAY only then (with protocol 0 every message
    waits for a delayed acknowledgement). The host is an address: no resolver thread is started.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind((LOOPBACK, 0))
    listener.listen(backlog)
    host, port = listener.getsockname()
    return listener, host, port
