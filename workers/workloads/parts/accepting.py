"""Takes a worker's connections, by the accept policy of its run, into a server's protocol."""

import asyncio
import contextlib
import socket
from collections.abc import Callable

from workers import Worker

BACKLOG = 2_048
AT_A_TIME = 64  # connections that may wait in the acceptor's socket and are taken in one wake-up

type ProtocolFactory = Callable[[], asyncio.Protocol]


class Accepting:
    """A worker's way to its connections: a server on a listening socket, or the acceptor's end.

    `connections` is how many it has taken so far.
    """

    def __init__(self, factory: ProtocolFactory) -> None:
        self.connections = 0
        self._factory = factory
        self._server: asyncio.Server | None = None
        self._dealt: socket.socket | None = None
        self._taking: set[asyncio.Task[None]] = set()

    async def begin(self, worker: Worker) -> None:
        """Take connections from now on.

        Raises:
            RuntimeError: the worker belongs to no served run.
        """
        if worker.inbound is None:
            raise RuntimeError("a served workload needs a driver that loads it: scaling run")
        policy, inbound = worker.inbound
        loop = asyncio.get_running_loop()
        if policy == "acceptor":
            self._dealt = inbound
            loop.add_reader(inbound.fileno(), self._take)
        else:
            self._server = await loop.create_server(self._new, sock=inbound, backlog=BACKLOG)

    async def close(self) -> None:
        """Take no more; the connections are their protocols' to close."""
        if self._server:
            self._server.close()
        if self._dealt:
            asyncio.get_running_loop().remove_reader(self._dealt.fileno())
            self._dealt.close()
        for task in self._taking:
            task.cancel()

    def _new(self) -> asyncio.Protocol:
        self.connections += 1
        return self._factory()

    def _take(self) -> None:
        assert self._dealt
        try:
            data, descriptors, _, _ = socket.recv_fds(self._dealt, AT_A_TIME, AT_A_TIME)
        except BlockingIOError:
            return
        if not data:  # the host has closed its end
            asyncio.get_running_loop().remove_reader(self._dealt.fileno())
        for descriptor in descriptors:
            task = asyncio.create_task(self._connect(socket.socket(fileno=descriptor)))
            self._taking.add(task)
            task.add_done_callback(self._taking.discard)

    async def _connect(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):  # the client has gone already
            await asyncio.get_running_loop().connect_accepted_socket(self._new, connection)
