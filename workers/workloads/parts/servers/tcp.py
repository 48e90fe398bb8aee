"""A TCP echo: a length (4 bytes, big-endian) and as many bytes, sent back as they are."""

import asyncio
from typing import cast

from workers import Worker

HEAD = 4


class EchoServer(asyncio.Protocol):
    """One connection of a client."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._received = bytearray()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Send every whole message back."""
        assert self._transport
        self._received += data
        while len(self._received) >= HEAD:
            end = HEAD + int.from_bytes(self._received[:HEAD], "big")
            if len(self._received) < end:
                return
            self._transport.write(bytes(self._received[:end]))
            del self._received[:end]
            self._worker.operations += 1
            self._worker.bytes += end

    def connection_lost(self, error: Exception | None) -> None:
        """Forget the transport."""
        del error
        self._transport = None
