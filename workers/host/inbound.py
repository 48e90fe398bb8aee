"""The sockets by which connections reach the workers of a served workload, by accept policy.

The host makes them, so they are the same under every model. With `port` each worker listens on a
port of its own. With `shared` all listen on one socket and the kernel wakes any of them; with
`reuseport` each has its own socket on one port and the kernel chooses by a hash. With `acceptor`
one thread of the host accepts and deals the connections round-robin.
"""

import contextlib
import errno
import socket
import threading
import time
from collections.abc import Sequence

from workers.system import listen

POLICIES = ("port", "acceptor", "shared", "reuseport")
CLOSED = (errno.EBADF, errno.EINVAL)  # what accepting from a socket that was closed fails with
PAUSE_S = 0.01  # where a connection cannot be accepted: there may be no open file left


class Inbound:
    """The sockets of one run.

    `addresses` are where clients connect, as `127.0.0.1:8000`: where each worker has its own, in
    the order of the workers.
    """

    def __init__(self, policy: str, workers: int) -> None:
        """Make the sockets, listening on the loopback.

        Raises:
            ValueError: there is no such policy.
            OSError: the system has no socket or port left.
        """
        self.policy = policy
        self._listening: list[socket.socket] = []
        self._dealing: list[socket.socket] = []
        if policy == "port":
            self._listening = [listen()[0] for _ in range(workers)]
            ends = self._listening
        elif policy == "shared":
            self._listening = [listen()[0]]
            ends = self._listening * workers
        elif policy == "reuseport":
            first, _, port = listen(reuse_port=True)
            others = [listen(port=port, reuse_port=True)[0] for _ in range(workers - 1)]
            self._listening = [first, *others]
            ends = self._listening
        elif policy == "acceptor":
            self._listening = [listen()[0]]
            pairs = [socket.socketpair() for _ in range(workers)]
            self._dealing = [ours for ours, _ in pairs]
            ends = [theirs for _, theirs in pairs]
        else:
            raise ValueError(f"unknown policy {policy!r}; known: {', '.join(POLICIES)}")
        places = dict.fromkeys(each.getsockname() for each in self._listening)
        self.addresses = [f"{host}:{port}" for host, port in places]
        self._ends = ends

    def descriptor(self, worker: int) -> int:
        """The socket that a worker gets: a listening one, or where connections are dealt to it."""
        return self._ends[worker].fileno()

    def start(self) -> None:
        """Begin to deal connections, if that is the policy."""
        if self._dealing:
            arguments = (self._listening[0], self._dealing)
            threading.Thread(target=_deal, args=arguments, name="acceptor", daemon=True).start()

    def close(self) -> None:
        """Close the host's own ends; the acceptor ends."""
        for each in self._listening:
            with contextlib.suppress(OSError):  # not connected: wakes a thread that accepts
                each.shutdown(socket.SHUT_RDWR)
        for each in (*self._listening, *self._dealing, *self._ends):
            each.close()


def _deal(listening: socket.socket, ends: Sequence[socket.socket]) -> None:
    """Accept until the socket is closed; give each connection to the next worker."""
    number = 0
    while True:
        try:
            connection, _ = listening.accept()
        except OSError as error:
            if error.errno in CLOSED:  # the run is over
                return
            time.sleep(PAUSE_S)
            continue
        with connection, contextlib.suppress(OSError):  # a worker that is gone gets none
            socket.send_fds(ends[number % len(ends)], [b"c"], [connection.fileno()])
        number += 1
