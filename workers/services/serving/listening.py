"""A local server's listening sockets, opened before anything slow is imported or made.

They are made with protocol TCP by name: made with 0, asyncio would leave Nagle's algorithm on.
"""

import socket

# What Linux queues of connections before they are accepted, unless told otherwise (somaxconn).
BACKLOG = 4_096


def listen(host: str, port: int) -> socket.socket:
    """Open a listening socket; port 0 lets the system choose.

    Raises:
        OSError: no such host, or the port is taken or not allowed.
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
    """Return the URL of a listening socket, with the address as digits (nothing to resolve)."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
