"""Listening sockets for workloads whose client and server share a loop."""

import socket


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
