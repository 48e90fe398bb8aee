"""The two ends of an echo connection, in asyncio's three APIs."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol, cast

from workers import Worker
from workers.workloads.parts.loopback import PLAIN, Contexts, listen
from workers.workloads.parts.turns import turns


@dataclass(frozen=True)
class Wanted:
    """Whose connections, how many, what goes round on them, and what work each trip carries."""

    worker: Worker
    connections: int
    payload: bytes
    work_turns: int = 0
    contexts: Contexts = PLAIN


class Client(Protocol):
    """The end that sends, waits for everything to come back, and counts."""

    transport: asyncio.Transport

    async def run(self) -> None:
        """Make round trips until the worker is stopped; the last one is finished."""

    async def close(self) -> None:
        """Close the connection and wait until it is gone."""


@dataclass
class Ends:
    """A server at its host and port, and its clients, closed together."""

    server: asyncio.Server
    address: tuple[str, int]
    clients: list[Client] = field(default_factory=list)
    handlers: set[asyncio.Task[None]] = field(default_factory=set)
    checking: asyncio.StreamWriter | None = None

    async def check(self, wanted: Wanted) -> None:
        """Make a round trip on one more connection, and compare the bytes.

        It stays open: an end of file makes asyncio free a receive buffer of 256 KiB, after which
        glibc handles all others differently.

        Raises:
            WrongEchoError: they differ.
            ConnectionResetError: the server hung up.
        """
        tls = wanted.contexts.client
        reader, self.checking = await asyncio.open_connection(*self.address, ssl=tls)
        self.checking.write(wanted.payload)
        try:
            echoed = await reader.readexactly(len(wanted.payload))
        except asyncio.IncompleteReadError:
            raise ConnectionResetError("the echo server hung up") from None
        if echoed != wanted.payload:
            raise WrongEchoError("the echo differs from what was sent")

    def tls(self) -> str:
        """Version and cipher that the ends agreed on: `TLSv1.3 TLS_AES_256_GCM_SHA384`."""
        agreed = self.clients[0].transport.get_extra_info("cipher")
        return f"{agreed[1]} {agreed[0]}" if agreed else "none"

    async def close(self) -> None:
        """Close clients first: a server waits for every client to be gone."""
        for client in self.clients:
            await client.close()
        if self.checking:
            self.checking.close()
            await self.checking.wait_closed()
        self.server.close()
        if self.handlers:
            await asyncio.wait(self.handlers)
        await self.server.wait_closed()


class WrongEchoError(Exception):
    """What came back is not what was sent."""


class Trips:
    """Counts the round trips of one connection, with the CPU work that each carries."""

    transport: asyncio.Transport

    def __init__(self, wanted: Wanted) -> None:
        self.worker = wanted.worker
        self.payload = wanted.payload
        self.work_turns = wanted.work_turns
        self.left = len(wanted.payload)
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport = cast(asyncio.Transport, transport)

    def connection_lost(self, error: Exception | None) -> None:
        """Note the end; an end in mid-trip is an error."""
        self.lost.set_result(None)
        if not self.ended.done():
            self.ended.set_exception(error or ConnectionResetError("the echo server hung up"))

    def came(self, size: int) -> None:
        """Take note of bytes that came back; a whole payload is a round trip."""
        self.left -= size
        if self.left:
            return
        self.worker.operations += 1
        if self.work_turns:
            turns(self.work_turns)
        self.left = len(self.payload)
        if self.worker.running:
            self.transport.write(self.payload)
        else:
            self.ended.set_result(None)

    async def run(self) -> None:
        """Send the first payload; `came` sends the others."""
        self.transport.write(self.payload)
        await self.ended

    async def close(self) -> None:
        """Close and wait for the transport to be gone."""
        if not self.ended.done():
            self.ended.cancel()
        self.transport.close()
        await self.lost


class ProtocolServer(asyncio.Protocol):
    """Echoes what it is given."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Send it back."""
        self.transport.write(data)


class ProtocolClient(Trips, asyncio.Protocol):
    """Counts round trips in `data_received`."""

    def data_received(self, data: bytes) -> None:
        """Take note of what came back."""
        self.came(len(data))


BUFFER_BYTES = 65_536


class BufferedServer(asyncio.BufferedProtocol):
    """Echoes from a buffer of its own: nothing is allocated per read."""

    def __init__(self) -> None:
        self._buffer = memoryview(bytearray(BUFFER_BYTES))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport = cast(asyncio.Transport, transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Lend the buffer to the transport."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Send back a copy: the buffer is overwritten by the next read."""
        self.transport.write(bytes(self._buffer[:nbytes]))


class BufferedClient(Trips, asyncio.BufferedProtocol):
    """Counts round trips in `buffer_updated`."""

    def __init__(self, wanted: Wanted) -> None:
        super().__init__(wanted)
        self._buffer = bytearray(BUFFER_BYTES)

    def get_buffer(self, sizehint: int) -> bytearray:
        """Lend the buffer to the transport."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Take note of what came back."""
        self.came(nbytes)


class StreamsClient:
    """Counts round trips in a coroutine."""

    def __init__(
        self, wanted: Wanted, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._worker, self._payload, self._turns = wanted.worker, wanted.payload, wanted.work_turns
        self._reader, self._writer = reader, writer
        self.transport = cast(asyncio.Transport, writer.transport)

    async def run(self) -> None:
        """Make round trips until stopped."""
        worker, work_turns = self._worker, self._turns
        while worker.running:
            self._writer.write(self._payload)
            await self._writer.drain()
            await self._reader.readexactly(len(self._payload))
            worker.operations += 1
            if work_turns:
                turns(work_turns)

    async def close(self) -> None:
        """Close the stream and wait for it to be gone."""
        self._writer.close()
        await self._writer.wait_closed()


async def _with_protocols(
    server_of: Callable[[], asyncio.BaseProtocol],
    client_of: type[ProtocolClient] | type[BufferedClient],
    wanted: Wanted,
) -> Ends:
    loop = asyncio.get_running_loop()
    listener, host, port = listen(wanted.connections)
    tls = wanted.contexts
    server = await loop.create_server(server_of, sock=listener, ssl=tls.server)
    ends = Ends(server, (host, port))
    for _ in range(wanted.connections):
        client = client_of(wanted)
        await loop.create_connection(lambda made=client: made, host, port, ssl=tls.client)
        ends.clients.append(client)
    return ends


async def _with_protocol(wanted: Wanted) -> Ends:
    return await _with_protocols(ProtocolServer, ProtocolClient, wanted)


async def _with_buffered(wanted: Wanted) -> Ends:
    return await _with_protocols(BufferedServer, BufferedClient, wanted)


async def _with_streams(wanted: Wanted) -> Ends:
    handlers: set[asyncio.Task[None]] = set()

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            handlers.add(task)
        while data := await reader.read(BUFFER_BYTES):
            writer.write(data)
            await writer.drain()
        writer.close()
        await writer.wait_closed()

    listener, host, port = listen(wanted.connections)
    tls = wanted.contexts
    server = await asyncio.start_server(echo, sock=listener, ssl=tls.server)
    ends = Ends(server, (host, port), handlers=handlers)
    for _ in range(wanted.connections):
        reader, writer = await asyncio.open_connection(host, port, ssl=tls.client)
        ends.clients.append(StreamsClient(wanted, reader, writer))
    return ends


ENDS: dict[str, Callable[[Wanted], Awaitable[Ends]]] = {
    "protocol": _with_protocol,
    "buffered": _with_buffered,
    "streams": _with_streams,
}
