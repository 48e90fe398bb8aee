"""A TCP echo: a length (4 bytes, big-endian) and as many bytes, sent back as they are."""

import asyncio
from typing import Any, cast

from workers import Worker
from workers.workloads.parts.servers import BaseServer
from workers.workloads.parts.work import PerRequest

HEAD = 4
BODY_MOST = 64 * 1024 * 1024  # bytes; a longer message is none of ours: the connection is closed


class Connection(asyncio.Protocol):
    """One connection of a client."""

    def __init__(self, server: "EchoServer") -> None:
        self._server = server
        self._received = bytearray()
        self._used = False
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._server.connections.add(self)

    def data_received(self, data: bytes) -> None:
        self._used = True
        received = self._received
        received += data
        while len(received) >= HEAD:
            end = HEAD + int.from_bytes(received[:HEAD], "big")
            if end > HEAD + BODY_MOST:
                self._refuse(end - HEAD)
                return
            if len(received) < end:
                return
            message = bytes(received[:end])
            del received[:end]
            self._take(message)

    def connection_lost(self, error: Exception | None) -> None:
        self.transport = None
        self._server.connections.discard(self)
        self._server.unused += not self._used

    def _take(self, message: bytes) -> None:
        wait_s = self._server.per_request.wait_s
        if wait_s:
            asyncio.get_running_loop().call_later(wait_s, self._answer, message)
        else:
            self._answer(message)

    def _answer(self, message: bytes) -> None:
        self._server.per_request.work()
        if self.transport is None:  # the client has gone while its request waited
            return
        self.transport.write(message)
        self._server.worker.operations += 1

    def _refuse(self, body: int) -> None:
        self._server.worker.fail(f"a message of {body:,} bytes; at most {BODY_MOST:,} are taken")
        self._received.clear()
        if self.transport:
            self.transport.abort()


class EchoServer(BaseServer):
    """The echo of one worker."""

    def __init__(self, worker: Worker, per_request: PerRequest) -> None:
        super().__init__(worker)
        self.per_request = per_request
        self.connections: set[Connection] = set()

    def protocol(self) -> asyncio.Protocol:
        return Connection(self)

    def facts(self, protocol: asyncio.Protocol) -> dict[str, str]:
        """The name of the server: it has no parser."""
        return {"server": "echo, asyncio protocol"}

    async def close(self) -> None:
        for connection in self.connections:
            if connection.transport:
                connection.transport.abort()
        await asyncio.sleep(0)  # transports are closed in the loop's next iteration


def requests(response_bytes: int) -> list[dict[str, Any]]:
    """One message: what comes back is the same."""
    return [{"body": "x" * response_bytes}]


def make(worker: Worker, per_request: PerRequest, _response_bytes: int) -> BaseServer:
    """Make the echo of one worker; how long its answers are is up to the clients."""
    return EchoServer(worker, per_request)
