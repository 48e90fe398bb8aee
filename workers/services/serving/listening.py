"""A service's listening socket, opened before anything slow is imported or generated.

It names the protocol TCP: with protocol 0 asyncio would leave Nagle's algorithm on.
"""

import socket

# Connections that Linux queues before they are accepted, by default (somaxconn).
BACKLOG = 4_096


def listen(host: str, port: int) -> socket.socket:
    """Open a listening socket; with port 0 the system chooses one.

    Raises:
        OSError: no such host, or the port is in use or not permitted.
    """
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP
    )[0]
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError:
        listening.close()
        raise
    return listening


def url_of(listening: socket.socket) -> str:
    """Return the URL of a listening socket, with a numeric address (nothing to resolve)."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
